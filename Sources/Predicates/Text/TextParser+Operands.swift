import CloudKitModel

extension TextParser {
    /// One side of an operator.
    enum Operand {
        case subject(Clause.Subject)
        case value(FieldValue)
        case list([FieldValue])
        case location(Coordinate)
        case nothing
        case distance(Clause.Subject, Coordinate)
        case words([FieldValue])
    }

    mutating func operand() throws(PredicateError) -> Operand {
        if let value = token.value {
            try advance()
            return .value(value)
        }
        switch token.kind {
        case .argument(isName: false): return Operand(try arguments.literal(for: try advance()))
        case .argument(isName: true): return .subject(subject(try arguments.name(for: try advance())))
        case .word(let name, isQuoted: true):
            try at(token) { () throws(BrokenRule) in try FieldName.check(name) }
            try advance()
            return try subjectUnlessCalled(.field(name))
        case .word(let name, isQuoted: false): return try word(name)
        default: throw unexpected("a field's name")
        }
    }

    private mutating func word(_ name: String) throws(PredicateError) -> Operand {
        if SystemField(inText: name) == nil { try at(token) { () throws(BrokenRule) in try FieldName.check(name) } }
        let upper = name.uppercased()
        if upper == "NULL" || upper == "NIL" {
            try advance()
            return .nothing
        }
        guard !TextParser.keywords.contains(upper) else {
            throw unexpected("a field's name (a field of that name is written #\(name))")
        }
        let place = try advance()
        if let function = try function(upper, at: place) { return function }
        return try subjectUnlessCalled(subject(name))
    }

    private func subject(_ name: String) -> Clause.Subject {
        if name.uppercased() == "SELF" || name == "allTokens" { return .allText }
        return SystemField(inText: name).map { .system($0) } ?? .field(name)
    }

    /// Returns the subject. Throws if the next token shows that the name was the name of a function.
    private func subjectUnlessCalled(_ subject: Clause.Subject) throws(PredicateError) -> Operand {
        guard token.isSign("(") || token.isSign(":") else { return .subject(subject) }
        throw refused(
            "CloudKit has no such function, no blocks and no subqueries: use distanceToLocation:fromLocation:, "
                + "tokenize or CAST(…, 'NSDate')")
    }

    /// Words that can be a field's name only after '#'.
    static let keywords: Set<String> = [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE",
        "MATCHES", "TOKENMATCHES", "TRUEPREDICATE", "FALSEPREDICATE", "TRUE", "FALSE", "YES", "NO", "NULL", "NIL",
    ]

    /// Whether the name of an app's field needs '#' before it, because without '#' it would mean something else.
    static func mustQuote(_ name: String) -> Bool {
        let upper = name.uppercased()
        return keywords.contains(upper) || upper == "SELF" || name == "allTokens" || SystemField(inText: name) != nil
    }
}

extension TextParser.Operand {
    fileprivate init(_ literal: Literal) {
        self =
            switch literal {
            case .value(let value): .value(value)
            case .list(let values): .list(values)
            case .location(let coordinate): .location(coordinate)
            case .nothing: .nothing
            }
    }
}

// MARK: - Functions

extension TextParser {
    /// Reads a function after its name; nil if the name and the next token do not start a known function.
    private mutating func function(_ name: String, at place: Token) throws(PredicateError) -> Operand? {
        let isCalled = token.isSign("(")
        guard isCalled || token.isSign(":") else { return nil }
        // The deepest valid nesting has two functions: a location in a distance.
        guard functionDepth < 2 else { throw refused("a function cannot be here: write the value", at: place) }
        functionDepth += 1
        defer { functionDepth -= 1 }
        switch name {
        case "CAST" where isCalled: return .value(try cast())
        case "NOW" where isCalled: return .value(try now())
        case "REFERENCE" where isCalled: return .value(.reference(Array(try stringInParentheses().utf8)))
        case "BYTES" where isCalled: return .value(try bytes())
        case "LOCATION" where isCalled: return .location(try location())
        case "TOKENIZE" where isCalled || token.isSign(":"): return .words(try tokenize())
        case "DISTANCETOLOCATION" where token.isSign(":"): return try distance()
        default: return nil
        }
    }

    private mutating func string() throws(PredicateError) -> String {
        let place = token
        guard case .value(.text(let text)) = try operand() else {
            throw wrongType("a string is needed here", at: place)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func stringInParentheses() throws(PredicateError) -> String {
        try expect(sign: "(")
        let text = try string()
        try expect(sign: ")")
        return text
    }

    private mutating func now() throws(PredicateError) -> FieldValue {
        try expect(sign: "(")
        try expect(sign: ")")
        return .now
    }

    private mutating func bytes() throws(PredicateError) -> FieldValue {
        let place = token
        let text = Array(try stringInParentheses().utf8)
        guard text.withUnsafeBytes(Base64.isValid) else {
            throw wrongType("bytes must be in base64 with padding", at: place)
        }
        return .bytes(text)
    }

    private mutating func location() throws(PredicateError) -> Coordinate {
        let place = token
        try expect(sign: "(")
        let latitude = try number()
        try expect(sign: ",")
        let longitude = try number()
        try expect(sign: ")")
        guard let location = Coordinate(latitude: latitude, longitude: longitude) else {
            throw wrongType(
                "a location must have a latitude from -90 to 90 and a longitude from -180 to 180", at: place)
        }
        return location
    }

    mutating func number() throws(PredicateError) -> Double {
        let place = token
        switch try operand() {
        case .value(.integer(let number)): return Double(number)
        case .value(.double(let number)): return number
        default: throw wrongType("a number is needed here", at: place)
        }
    }

    /// Reads `CAST(…, 'NSDate')` with seconds since 2001 (NSPredicate) or with RFC 3339 text (Belfry's own).
    private mutating func cast() throws(PredicateError) -> FieldValue {
        try expect(sign: "(")
        let place = token
        let operand = try operand()
        try expect(sign: ",")
        let typePlace = token
        guard try string() == "NSDate" else { throw refused("only a CAST to 'NSDate' is possible", at: typePlace) }
        try expect(sign: ")")
        return try at(place) { () throws(BrokenRule) in
            guard case .value(let value) = operand else { throw BrokenRule(Dates.rule) }
            return try Dates.milliseconds(value)
        }
    }

    /// Reads `tokenize('a b', 'Cdl')` or `tokenize:using:('a b', 'Cdl')`.
    private mutating func tokenize() throws(PredicateError) -> [FieldValue] {
        if token.isSign(":") { try selector("USING") }
        try expect(sign: "(")
        let place = token
        let text = try string()
        try expect(sign: ",")
        let options = token
        guard ["cdl", "cd"].contains(try string().lowercased()) else {
            throw refused("words are always compared regardless of case and diacritics: write 'Cdl'", at: options)
        }
        try expect(sign: ")")
        return try at(place) { () throws(BrokenRule) in try Words.checked(text) }
    }

    /// Reads `distanceToLocation:fromLocation:(field, location)`. The field and the location may be in either order.
    private mutating func distance() throws(PredicateError) -> Operand {
        try selector("FROMLOCATION")
        try expect(sign: "(")
        let place = token
        let one = try operand()
        try expect(sign: ",")
        let other = try operand()
        try expect(sign: ")")
        switch (one, other) {
        case (.subject(let subject), .location(let centre)) where subject != .allText,
            (.location(let centre), .subject(let subject)) where subject != .allText:
            return .distance(subject, centre)
        default:
            throw wrongType(
                "a distance needs a field and a location: %@ with its argument, or location(52.5, 13.4)", at: place)
        }
    }

    /// Reads the second part of a function's name, such as `:fromLocation:`.
    private mutating func selector(_ second: String) throws(PredicateError) {
        try expect(sign: ":")
        guard token.isKeyword(second) else { throw unexpected("'\(second.lowercased()):'") }
        try advance()
        try expect(sign: ":")
    }
}
