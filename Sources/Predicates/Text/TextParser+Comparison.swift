extension TextParser {
    mutating func comparison(isNegated: Bool) throws(PredicateError) -> Condition {
        let start = token
        if token.isKeyword("ANY") || token.isKeyword("SOME") { return try any(isNegated: isNegated) }
        if token.isKeyword("ALL") { return try all(isNegated: isNegated) }
        if token.isKeyword("NONE") { throw refused("CloudKit has no NONE: write NOT ANY field == value") }
        let left = try operand()
        switch left {
        case .subject(let subject):
            return try comparison(Comparison(start: start, subject: subject, isNegated: isNegated))
        case .value(let value): return try mirrored(start, value, isNegated: isNegated)
        case .distance(let subject, let centre):
            return try near(start, subject, centre, try comparisonOperator(), nil, isNegated: isNegated)
        case .words: throw refused("write ANY or ALL before tokenize, and IN self after it", at: start)
        case .list: throw refused("write the field first, then IN or BETWEEN, then the list", at: start)
        case .location:
            throw refused("write a location in distanceToLocation:fromLocation:(field, location)", at: start)
        case .nothing: throw noNull(at: start)
        }
    }

    private mutating func comparison(_ found: Comparison) throws(PredicateError) -> Condition {
        if found.subject == .allText || token.isKeyword("TOKENMATCHES") { return try search(found) }
        let (place, operation) = (token, try comparisonOperator())
        let comparison = Comparison(
            start: found.start, subject: found.subject, isNegated: found.isNegated != operation.isOpposite,
            isExact: operation.isExact)
        if operation.comparator == .equals, token.isKeyword("NIL") || token.isKeyword("NULL") {
            return try presence(comparison)
        }
        switch operation.comparator {
        case nil: return try between(comparison, place)
        case .listContains where token.isKeyword("ALL"):
            try advance()
            return try clause(comparison, .listContainsAll, listAt: token)
        case .isIn: return try clause(comparison, .isIn, listAt: token)
        case .some(let comparator): return try clause(comparison, comparator, valueAt: token)
        }
    }

    private mutating func clause(
        _ comparison: Comparison, _ comparator: Clause.Comparator, valueAt place: Token
    ) throws(PredicateError) -> Condition {
        try clause(comparison, comparator, [try value()], at: place)
    }

    private mutating func clause(
        _ comparison: Comparison, _ comparator: Clause.Comparator, listAt place: Token
    ) throws(PredicateError) -> Condition {
        try clause(comparison, comparator, try list(), at: place)
    }

    /// Reads `field != nil`. There is no `field == nil`, because a comparison with a missing field is false.
    private mutating func presence(_ comparison: Comparison) throws(PredicateError) -> Condition {
        guard comparison.isNegated else { throw noNull(at: token) }
        let place = try advance()
        return try clause(
            Comparison(start: comparison.start, subject: comparison.subject, isNegated: false), .exists, [], at: place)
    }

    /// Reads BETWEEN as two comparisons, like CloudKit.
    private mutating func between(_ found: Comparison, _ place: Token) throws(PredicateError) -> Condition {
        guard isExtended || !found.isNegated else { throw refused("CloudKit has no NOT before BETWEEN", at: place) }
        let start = token
        let bounds = try list()
        guard bounds.count == 2 else {
            throw PredicateError(
                code: "predicate.syntax", offset: start.offset,
                reason: "BETWEEN needs two values, {lower, upper}, not \(bounds.count)")
        }
        let parts = [
            try clause(found, .greaterThanOrEquals, [bounds[0]], at: start),
            try clause(found, .lessThanOrEquals, [bounds[1]], at: start),
        ]
        return found.isNegated ? .joined(any: parts) : .joined(all: parts)
    }

    /// Reads a comparison with the value first: `value IN field`, `value < field`, or `value > distance`.
    private mutating func mirrored(
        _ start: Token, _ value: FieldValue, isNegated: Bool
    ) throws(PredicateError) -> Condition {
        let place = token
        let operation = try comparisonOperator()
        if operation.comparator == .isIn, token.isSign("{") { throw unexpected("a field") }
        guard let comparator = operation.comparator == .isIn ? .listContains : operation.comparator?.mirrored else {
            throw refused("write the field before \(place.name), and the value after it", at: place)
        }
        let rightPlace = token
        switch try operand() {
        case .subject(let subject) where subject != .allText:
            let comparison = Comparison(
                start: start, subject: subject, isNegated: isNegated != operation.isOpposite,
                isExact: operation.isExact)
            return try clause(comparison, comparator, [value], at: start)
        case .distance(let subject, let centre):
            let mirroredOperation = Operation(place: place, comparator: comparator, isOpposite: operation.isOpposite)
            return try near(start, subject, centre, mirroredOperation, value, isNegated: isNegated)
        default: throw refused("one side of \(place.name) must be a field of the record", at: rightPlace)
        }
    }
}

// MARK: - Elements of lists

extension TextParser {
    /// Reads `ANY` or `SOME`, then `field == value`, `field IN {…}` or `field BEGINSWITH 'x'`, or `tokenize(…) IN` with
    /// `self` or a field.
    private mutating func any(isNegated: Bool) throws(PredicateError) -> Condition {
        let start = try advance()
        let subject: Clause.Subject
        switch try operand() {
        case .words(let words): return try search(start, words, all: false, isNegated: isNegated)
        case .subject(let found) where found != .allText: subject = found
        default: throw refused("write a field after ANY", at: start)
        }
        let operation = try comparisonOperator()
        let comparison = Comparison(
            start: start, subject: subject, isNegated: isNegated, isExact: operation.isExact)
        switch (operation.comparator, operation.isOpposite) {
        case (.equals, false): return try clause(comparison, .listContains, valueAt: token)
        case (.isIn, _): return try clause(comparison, .listContainsAny, listAt: token)
        case (.beginsWith, _): return try clause(comparison, .listMemberBeginsWith, valueAt: token)
        default: throw refused("after ANY and a field, the operator must be ==, IN or BEGINSWITH", at: operation.place)
        }
    }

    /// Reads `ALL tokenize(…) IN` with `self` or a field. In the extended dialect, also reads `ALL`, a field, an
    /// operator and a value.
    private mutating func all(isNegated: Bool) throws(PredicateError) -> Condition {
        let start = try advance()
        guard isExtended || token.isKeyword("TOKENIZE") else {
            throw refused(
                "CloudKit has ALL only before tokenize(…): write one comparison for each value, as in "
                    + "tags CONTAINS 'a' AND tags CONTAINS 'b'",
                at: start)
        }
        let subject: Clause.Subject
        switch try operand() {
        case .words(let words): return try search(start, words, all: true, isNegated: isNegated)
        case .subject(let found) where isExtended && found != .allText: subject = found
        default: throw refused("write a field after ALL, or tokenize('…', 'Cdl') IN self", at: start)
        }
        let operation = try comparisonOperator()
        let comparison = Comparison(
            start: start, subject: subject, isNegated: isNegated != operation.isOpposite, isExact: operation.isExact)
        // ALL field != value means that no element equals the value.
        if operation.isOpposite { return try clause(comparison, .listContains, valueAt: token) }
        guard let test = operation.comparator?.test else {
            throw refused(
                "after ALL and a field, the operator must be ==, !=, <, <=, >, >=, IN or BEGINSWITH",
                at: operation.place)
        }
        return test == .isIn
            ? try clause(comparison, .every(test), listAt: token)
            : try clause(comparison, .every(test), valueAt: token)
    }
}

// MARK: - Words and distances

extension TextParser {
    /// Reads `self CONTAINS 'a b'`, which searches for any of the words, or `TOKENMATCHES[cdl] 'a b'` after `self` or a
    /// field, which searches for all of the words.
    private mutating func search(_ found: Comparison) throws(PredicateError) -> Condition {
        let place = token
        guard token.isKeyword("CONTAINS") || token.isKeyword("TOKENMATCHES") else {
            throw refused("self can only be searched for words: self CONTAINS 'word'")
        }
        let all = try advance().isKeyword("TOKENMATCHES")
        if token.isSign("[") { _ = try options(allowed: "cdl") }
        guard !found.isNegated else { throw refusedNegation(of: "a search for words", at: place) }
        let textPlace = token
        guard case .text(let text) = try value() else {
            throw wrongType("a search for words needs a string", at: textPlace)
        }
        let words = try at(textPlace) { () throws(BrokenRule) in
            try Words.checked(String(decoding: text, as: UTF8.self))
        }
        return try clause(found, all ? .containsAllWords : .containsAnyWord, words, at: textPlace)
    }

    private mutating func search(
        _ start: Token, _ words: [FieldValue], all: Bool, isNegated: Bool
    ) throws(PredicateError) -> Condition {
        guard token.isKeyword("IN") else { throw unexpected("IN") }
        try advance()
        let place = token
        guard case .subject(let subject) = try operand() else {
            throw refused("write self or a field after IN", at: place)
        }
        guard !isNegated else { throw refusedNegation(of: "a search for words", at: start) }
        let comparison = Comparison(start: start, subject: subject, isNegated: false)
        return try clause(comparison, all ? .containsAllWords : .containsAnyWord, words, at: start)
    }

    /// - Parameter metres: The number of metres if it precedes the operator; nil if it follows the operator.
    private mutating func near(
        _ start: Token, _ subject: Clause.Subject, _ centre: Coordinate, _ operation: Operation, _ metres: FieldValue?,
        isNegated: Bool
    ) throws(PredicateError) -> Condition {
        guard !isNegated else { throw refusedNegation(of: "a distance", at: start) }
        guard operation.comparator == .lessThan || operation.comparator == .lessThanOrEquals else {
            throw refused(
                "CloudKit only finds records inside a circle: write < or <= and the metres after the function",
                at: operation.place)
        }
        let place = metres == nil ? token : start
        let radius =
            switch metres {
            case .integer(let number): Double(number)
            case .double(let number): number
            case nil: try number()
            default: -1.0
            }
        guard radius >= 0 else { throw wrongType("a distance must be a number of metres, 0 or greater", at: place) }
        // A distance that is less than a double is at most the next lower double.
        let closed = operation.comparator == .lessThan ? radius.nextDown : radius
        guard closed >= 0 else { return never(at: place) }
        let circle = Circle(latitude: centre.latitude, longitude: centre.longitude, radius: closed.magnitude)
        return try clause(
            Comparison(start: start, subject: subject, isNegated: false), .isNear, [.circle(circle)], at: start)
    }
}
