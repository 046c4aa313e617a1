/// Reads the text of an `NSPredicate`, as far as CloudKit takes it (CKQuery: predicate rules for query objects).
///
///     predicate  = term { ("AND" | "&&") term }
///     term       = ("NOT" | "!") term | "(" predicate ")" | "TRUEPREDICATE" | "FALSEPREDICATE" | comparison
///     comparison = field operator value | field "IN" list | field "BETWEEN" pair | field "CONTAINS" value
///                | value operator field | value "IN" field | ("ANY" | "SOME") field ("==" | "IN" | "BEGINSWITH") …
///
/// One token is looked ahead; parentheses and NOTs recurse, to a stated depth.
struct TextParser {
    private var lexer: Lexer
    var token: Token
    var clauses: [Clause] = []
    private var isNever = false

    static func predicate(_ text: String) throws(PredicateError) -> RecordPredicate {
        guard text.utf8.count <= PredicateLimits.textBytesMax else {
            throw PredicateError(
                code: "predicate.limit", offset: PredicateLimits.textBytesMax,
                reason: "\(text.utf8.count) bytes, over the limit of \(PredicateLimits.textBytesMax)")
        }
        var parser = try TextParser(text)
        try parser.conjunction(isNegated: false, depth: 0)
        guard parser.token.kind == .end else { throw parser.unexpected("AND or the end of the predicate") }
        return RecordPredicate(clauses: parser.clauses, isNever: parser.isNever)
    }

    private init(_ text: String) throws(PredicateError) {
        lexer = Lexer(text)
        token = try lexer.next()
    }

    /// Takes the token and reads the next.
    @discardableResult
    mutating func take() throws(PredicateError) -> Token {
        let taken = token
        token = try lexer.next()
        return taken
    }

    mutating func expect(sign: String) throws(PredicateError) {
        guard token.isSign(sign) else { throw unexpected("'\(sign)'") }
        try take()
    }
}

// MARK: - Compound predicates

extension TextParser {
    private mutating func conjunction(isNegated: Bool, depth: Int) throws(PredicateError) {
        try term(isNegated: isNegated, depth: depth)
        while token.isKeyword("AND") || token.isSign("&&") {
            guard !isNegated else {
                throw refused(
                    "NOT stands before one comparison only: NOT (a AND b) would be an OR, which CloudKit lacks")
            }
            try take()
            try term(isNegated: false, depth: depth)
        }
        if token.isKeyword("OR") || token.isSign("||") {
            throw refused("CloudKit has no OR: write IN {…} for one field, or save a subscription for each side")
        }
    }

    private mutating func term(isNegated: Bool, depth: Int) throws(PredicateError) {
        guard depth <= PredicateLimits.depthMax else {
            throw PredicateError(
                code: "predicate.limit", offset: token.offset,
                reason: "nested deeper than the limit of \(PredicateLimits.depthMax)")
        }
        if token.isKeyword("NOT") || token.isSign("!") {
            try take()
            try term(isNegated: !isNegated, depth: depth + 1)
        } else if token.isSign("(") {
            try take()
            try conjunction(isNegated: isNegated, depth: depth + 1)
            try expect(sign: ")")
        } else if token.isKeyword("TRUEPREDICATE") || token.isKeyword("FALSEPREDICATE") {
            let isTrue = try take().isKeyword("TRUEPREDICATE")
            isNever = isNever || isTrue == isNegated
        } else {
            try comparison(isNegated: isNegated)
        }
    }
}

// MARK: - Errors

extension TextParser {
    func unexpected(_ expected: String) -> PredicateError {
        PredicateError(
            code: "predicate.syntax", offset: token.offset, reason: "\(token.name) where \(expected) is needed")
    }

    /// CloudKit does not take it, and says nothing of it that could be done otherwise.
    func refused(_ reason: String, at place: Token? = nil) -> PredicateError {
        PredicateError(code: "predicate.unsupported", offset: (place ?? token).offset, reason: reason)
    }

    func notYet(_ what: String) -> PredicateError {
        PredicateError(code: "predicate.not_yet", offset: token.offset, reason: "\(what) not supported yet")
    }

    mutating func append(
        _ field: String, _ comparator: Clause.Comparator, _ values: [FieldValue], isNegated: Bool
    ) throws(PredicateError) {
        guard clauses.count < PredicateLimits.clausesMax else {
            throw PredicateError(
                code: "predicate.limit", offset: token.offset,
                reason: "more comparisons than the limit of \(PredicateLimits.clausesMax)")
        }
        // CKQuery: BEGINSWITH is case-sensitive, all other comparisons of strings are not.
        clauses.append(
            Clause(field: field, comparator, values, foldsCase: !comparator.isPrefix, isNegated: isNegated))
    }
}
