extension TextParser {
    mutating func comparison(isNegated: Bool) throws(PredicateError) {
        if token.isKeyword("ANY") || token.isKeyword("SOME") {
            try take()
            return try anyComparison(isNegated: isNegated)
        }
        if token.isKeyword("ALL") || token.isKeyword("NONE") {
            throw refused("CloudKit has no \(token.name): join a CONTAINS or NOT … CONTAINS for each value with AND")
        }
        if token.value != nil { return try mirroredComparison(isNegated: isNegated) }
        let field = try field()
        let place = token
        let (comparator, isOpposite) = try comparisonOperator()
        let isNegated = isNegated != isOpposite
        switch comparator {
        case nil: try between(field, isNegated: isNegated, place)
        case .isIn: try append(field, .isIn, try list(), isNegated: isNegated)
        case .beginsWith: try append(field, .beginsWith, [try prefix()], isNegated: isNegated)
        case .some(let comparator): try append(field, comparator, [try value()], isNegated: isNegated)
        }
    }

    /// `ANY field == value`, `ANY field IN {…}`, `ANY field BEGINSWITH 'x'`.
    private mutating func anyComparison(isNegated: Bool) throws(PredicateError) {
        let field = try field()
        let place = token
        switch try comparisonOperator() {
        case (.equals, false): try append(field, .listContains, [try value()], isNegated: isNegated)
        case (.isIn, _): try append(field, .listContainsAny, try list(), isNegated: isNegated)
        case (.beginsWith, _): try append(field, .listMemberBeginsWith, [try prefix()], isNegated: isNegated)
        default: throw refused("after ANY stands ==, IN or BEGINSWITH", at: place)
        }
    }

    /// `value IN field`, `value < field`.
    private mutating func mirroredComparison(isNegated: Bool) throws(PredicateError) {
        let value = try value()
        let place = token
        let (comparator, isOpposite) = try comparisonOperator()
        let isNegated = isNegated != isOpposite
        if comparator == .isIn {
            if token.isSign("{") { throw unexpected("a field") }
            return try append(try field(), .listContains, [value], isNegated: isNegated)
        }
        guard let mirrored = comparator?.mirrored else {
            throw refused("before \(place.name) stands the field, after it the value", at: place)
        }
        try append(try field(), mirrored, [value], isNegated: isNegated)
    }

    private mutating func between(_ field: String, isNegated: Bool, _ place: Token) throws(PredicateError) {
        guard !isNegated else { throw refused("CloudKit takes no NOT before BETWEEN", at: place) }
        let start = token
        let bounds = try list()
        guard bounds.count == 2 else {
            throw PredicateError(
                code: "predicate.syntax", offset: start.offset, reason: "BETWEEN takes two values: {lower, upper}")
        }
        try append(field, .greaterThanOrEquals, [bounds[0]], isNegated: false)
        try append(field, .lessThanOrEquals, [bounds[1]], isNegated: false)
    }
}

// MARK: - Operators

extension TextParser {
    /// - Returns: The comparator, nil for BETWEEN, and whether its opposite is meant.
    private mutating func comparisonOperator() throws(PredicateError) -> (Clause.Comparator?, Bool) {
        guard let found = signOperator ?? wordOperator else { throw refusedOperator() }
        try take()
        if token.isSign("[") {
            throw refused("CloudKit takes no [c] or [d]: BEGINSWITH heeds case, everything else ignores it")
        }
        return found
    }

    private var signOperator: (Clause.Comparator?, Bool)? {
        guard case .sign(let sign) = token.kind else { return nil }
        return switch sign {
        case "=", "==": (.equals, false)
        case "!=", "<>": (.equals, true)
        case "<": (.lessThan, false)
        case "<=", "=<": (.lessThanOrEquals, false)
        case ">": (.greaterThan, false)
        case ">=", "=>": (.greaterThanOrEquals, false)
        default: nil
        }
    }

    private var wordOperator: (Clause.Comparator?, Bool)? {
        switch token.keyword {
        case "IN": (.isIn, false)
        case "BETWEEN": (nil, false)
        case "BEGINSWITH": (.beginsWith, false)
        case "CONTAINS": (.listContains, false)
        default: nil
        }
    }

    private func refusedOperator() -> PredicateError {
        switch token.keyword {
        case "ENDSWITH", "LIKE", "MATCHES":
            refused("CloudKit has no \(token.name): write BEGINSWITH, or == with the whole string")
        case "NOT": refused("NOT stands before the comparison: NOT field IN {…}")
        default:
            token.isSign(".")
                ? refused("CloudKit takes no key paths: name a field of the record")
                : unexpected("an operator such as == or BEGINSWITH")
        }
    }
}

// MARK: - Operands

extension TextParser {
    private static let keywords: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE",
        "MATCHES", "TRUEPREDICATE", "FALSEPREDICATE", "TRUE", "FALSE", "YES", "NO", "NULL", "NIL",
    ]

    private static let systemFields: Set<String> = [
        "creationDate", "modificationDate", "creatorUserRecordID", "lastModifiedUserRecordID", "recordID",
        "recordChangeTag",
    ]

    private mutating func field() throws(PredicateError) -> String {
        guard case .word(let name, let isQuoted) = token.kind else { throw unexpected("a field's name") }
        if !isQuoted {
            guard !TextParser.keywords.contains(name.uppercased()) else {
                throw unexpected("a field's name (a field of that name is written #\(name))")
            }
            if name.uppercased() == "SELF" { throw notYet("searching for words with self CONTAINS is") }
            if TextParser.systemFields.contains(name) { throw notYet("system fields such as \(name) are") }
        }
        try take()
        if token.isSign("(") || token.isSign(":") { throw notYet("functions such as \(name) are") }
        return name
    }

    private mutating func value() throws(PredicateError) -> FieldValue {
        if let value = token.value {
            try take()
            return value
        }
        switch token.keyword {
        case "NULL", "NIL": throw refused("there is no null: a comparison with a field that is missing is false")
        case .some: throw refused("a field is compared with a value: a string stands in quotes")
        case nil: throw unexpected("a string or a number")
        }
    }

    private mutating func prefix() throws(PredicateError) -> FieldValue {
        let place = token
        let value = try value()
        guard value.isText else {
            throw PredicateError(
                code: "predicate.type", offset: place.offset, reason: "only strings begin with something")
        }
        return value
    }

    private mutating func list() throws(PredicateError) -> [FieldValue] {
        try expect(sign: "{")
        var values: [FieldValue] = []
        while !token.isSign("}") {
            if !values.isEmpty { try expect(sign: ",") }
            guard values.count < PredicateLimits.valuesMax else {
                throw PredicateError(
                    code: "predicate.limit", offset: token.offset,
                    reason: "more values than the limit of \(PredicateLimits.valuesMax)")
            }
            values.append(try value())
        }
        try take()
        return values
    }
}
