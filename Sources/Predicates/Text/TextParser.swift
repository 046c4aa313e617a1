import JSON

/// Reads the text of an `NSPredicate` by CloudKit's rules (CKQuery: predicate rules for query objects).
///
///     predicate  = sum
///     sum        = product { ("OR" | "||") product }                                      (OR: extended only)
///     product    = term { ("AND" | "&&") term }
///     term       = { "NOT" | "!" } ( "(" sum ")" | "TRUEPREDICATE" | "FALSEPREDICATE" | comparison )
///     comparison = subject operator value | subject "IN" list | subject "BETWEEN" pair | subject "CONTAINS" value
///                | subject "CONTAINS" "ALL" list | subject "!=" "nil" | value operator subject | value "IN" subject
///                | distance ("<" | "<=") value | value (">" | ">=") distance
///                | ("ANY" | "SOME") subject ("==" | "IN" | "BEGINSWITH") …
///                | "ALL" subject operator …                                            (ALL: extended only)
///                | "self" "CONTAINS" string | ("self" | subject) "TOKENMATCHES[cdl]" string
///                | ("ANY" | "SOME" | "ALL") "tokenize" "(" string "," "'Cdl'" ")" "IN" ("self" | subject)
///
/// The parser looks one token ahead. Parentheses recurse, up to a limit.
struct TextParser {
    /// Byte offsets in the text.
    struct Places {
        /// The offset of each comparison, in the order of the condition.
        var clauses: [Int] = []
        /// The offset of the first part that is never true: `FALSEPREDICATE`, `NOT TRUEPREDICATE` or `distance < 0`.
        var never: Int?
    }

    private var lexer: Lexer
    var token: Token
    let isExtended: Bool
    var arguments: Arguments
    /// How many functions are open.
    var functionDepth = 0
    private var clauseCount = 0
    private var places = Places()

    static func condition(
        _ text: String, arguments: JSONValue? = nil, isExtended: Bool
    ) throws(PredicateError) -> (Condition, Places) {
        guard text.utf8.count <= PredicateLimits.textBytesMax else {
            throw PredicateError(
                code: "predicate.limit", offset: PredicateLimits.textBytesMax,
                reason: "\(text.utf8.count) bytes, over the limit of \(PredicateLimits.textBytesMax)")
        }
        var parser = try TextParser(text, try Arguments(arguments), isExtended)
        let condition = try parser.sum(isNegated: false, depth: 0)
        guard parser.token.kind == .end else { throw parser.unexpected("AND or the end of the predicate") }
        try parser.arguments.end()
        return (condition, parser.places)
    }

    private init(_ text: String, _ arguments: Arguments, _ isExtended: Bool) throws(PredicateError) {
        lexer = Lexer(text)
        token = try lexer.next()
        (self.arguments, self.isExtended) = (arguments, isExtended)
    }

    /// Returns the token and reads the next one.
    @discardableResult
    mutating func advance() throws(PredicateError) -> Token {
        let taken = token
        token = try lexer.next()
        return taken
    }

    mutating func expect(sign: String) throws(PredicateError) {
        guard token.isSign(sign) else { throw unexpected("'\(sign)'") }
        try advance()
    }
}

// MARK: - Compound predicates

extension TextParser {
    private mutating func sum(isNegated: Bool, depth: Int) throws(PredicateError) -> Condition {
        let first = places.clauses.count
        var parts = [try product(isNegated: isNegated, depth: depth)]
        while token.isKeyword("OR") || token.isSign("||") {
            guard isExtended else {
                throw refused("CloudKit has no OR: write IN {…} for one field, or save a subscription for each side")
            }
            try advance()
            parts.append(try product(isNegated: isNegated, depth: depth))
        }
        return forgettingPlaces(
            ifConstant: isNegated ? .joined(all: parts) : .joined(any: parts), from: first)
    }

    private mutating func product(isNegated: Bool, depth: Int) throws(PredicateError) -> Condition {
        let first = places.clauses.count
        var parts = [try term(isNegated: isNegated, depth: depth)]
        while token.isKeyword("AND") || token.isSign("&&") {
            guard isExtended || !isNegated else {
                throw refused(
                    "NOT can only precede one comparison: NOT (a AND b) would be an OR, and CloudKit has no OR")
            }
            try advance()
            parts.append(try term(isNegated: isNegated, depth: depth))
        }
        return forgettingPlaces(
            ifConstant: isNegated ? .joined(any: parts) : .joined(all: parts), from: first)
    }

    /// Returns the condition. If it is a constant, forgets the offsets of its comparisons: all offsets from `first` on.
    private mutating func forgettingPlaces(ifConstant condition: Condition, from first: Int) -> Condition {
        if condition == .always || condition == .never { places.clauses.removeSubrange(first...) }
        return condition
    }

    private mutating func term(isNegated: Bool, depth: Int) throws(PredicateError) -> Condition {
        var isNegated = isNegated
        while token.isKeyword("NOT") || token.isSign("!") {
            try advance()
            isNegated.toggle()
        }
        if token.isSign("(") { return try parentheses(isNegated: isNegated, depth: depth + 1) }
        if token.isKeyword("TRUEPREDICATE") || token.isKeyword("FALSEPREDICATE") {
            return try constant(isNegated: isNegated)
        }
        return try comparison(isNegated: isNegated)
    }

    private mutating func parentheses(isNegated: Bool, depth: Int) throws(PredicateError) -> Condition {
        guard depth <= PredicateLimits.depthMax else {
            throw PredicateError(
                code: "predicate.limit", offset: token.offset,
                reason: "parentheses nested deeper than the limit of \(PredicateLimits.depthMax)")
        }
        try advance()
        let inner = try sum(isNegated: isNegated, depth: depth)
        try expect(sign: ")")
        return inner
    }

    private mutating func constant(isNegated: Bool) throws(PredicateError) -> Condition {
        let place = try advance()
        if place.isKeyword("TRUEPREDICATE") != isNegated { return .always }
        return never(at: place)
    }

    mutating func never(at place: Token) -> Condition {
        places.never = places.never ?? place.offset
        return .never
    }
}

// MARK: - Errors

extension TextParser {
    func unexpected(_ expected: String) -> PredicateError {
        PredicateError(
            code: "predicate.syntax", offset: token.offset, reason: "\(token.name) where \(expected) is needed")
    }

    /// The error for text that CloudKit does not accept.
    func refused(_ reason: String, at place: Token? = nil) -> PredicateError {
        PredicateError(code: "predicate.unsupported", offset: (place ?? token).offset, reason: reason)
    }

    func wrongType(_ reason: String, at place: Token) -> PredicateError {
        PredicateError(code: "predicate.type", offset: place.offset, reason: reason)
    }

    /// The error for NOT before a distance or a search for words. Neither dialect accepts it.
    func refusedNegation(of what: String, at place: Token) -> PredicateError {
        let extended =
            isExtended
            ? "; extended predicates accept NOT before groups with AND and OR, and before all comparisons except "
                + "distances, searches for words and field != nil" : ""
        return refused(
            "CloudKit has no NOT before \(what): let the app set a field for it, as in is_other == 1\(extended)",
            at: place)
    }

    /// Runs a check and adds the offset of `place` to its error.
    func at<Result>(_ place: Token, _ check: () throws(BrokenRule) -> Result) throws(PredicateError) -> Result {
        do { return try check() } catch {
            throw PredicateError(code: error.code, offset: place.offset, reason: error.reason)
        }
    }

    struct Comparison {
        let start: Token
        let subject: Clause.Subject
        let isNegated: Bool
        var isExact = false
    }

    /// - Parameter place: The token at which an error about the values is reported.
    mutating func clause(
        _ comparison: Comparison, _ comparator: Clause.Comparator, _ values: [FieldValue], at place: Token
    ) throws(PredicateError) -> Condition {
        guard clauseCount < PredicateLimits.clausesMax else {
            throw PredicateError(
                code: "predicate.limit", offset: comparison.start.offset,
                reason: "more comparisons than the limit of \(PredicateLimits.clausesMax)")
        }
        clauseCount += 1
        let checked = try at(place) { () throws(BrokenRule) in
            try ClauseRules.checked(comparison.subject, comparator, values)
        }
        let clause = Clause(
            comparison.subject, comparator, checked, foldsCase: !comparison.isExact, isNegated: comparison.isNegated)
        places.clauses.append(comparison.start.offset)
        return .clause(clause)
    }
}
