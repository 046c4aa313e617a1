extension TextParser {
    struct Operation {
        let place: Token
        /// The operator's comparator; nil for BETWEEN, which stands for two comparisons.
        let comparator: Clause.Comparator?
        /// Whether the operator means the negation of the comparator. `!=` does: its comparator is `equals`.
        let isOpposite: Bool
        /// Whether the operator has the option `[n]`, which compares strings exactly.
        var isExact = false
    }

    mutating func comparisonOperator() throws(PredicateError) -> Operation {
        guard let (comparator, isOpposite) = signOperator ?? wordOperator else { throw refusedOperator() }
        let place = try advance()
        let isExact = token.isSign("[") ? try options(allowed: "n") : false
        return Operation(place: place, comparator: comparator, isOpposite: isOpposite, isExact: isExact)
    }

    /// Reads an operator's options, such as `[n]` or `[cdl]`. Each letter must be in `allowed`. Always returns true.
    mutating func options(allowed: String) throws(PredicateError) -> Bool {
        let place = try advance()
        guard case .word(let options, isQuoted: false) = token.kind,
            options.lowercased().allSatisfy({ allowed.contains($0) })
        else {
            throw refused(
                allowed == "n"
                    ? "CloudKit has no [c] and no [d]: BEGINSWITH is case-sensitive, all other operators ignore case"
                    : "this operator has the options \(allowed.map { "[\($0)]" }.joined(separator: ", ")) only",
                at: place)
        }
        try advance()
        try expect(sign: "]")
        return true
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
        case "NOT": refused("write NOT before the comparison: NOT field IN {…}")
        default:
            token.isSign(".")
                ? refused("CloudKit has no key paths: name a field of the record")
                : unexpected("an operator such as == or BEGINSWITH")
        }
    }
}

// MARK: - Values

extension TextParser {
    mutating func value() throws(PredicateError) -> FieldValue {
        let place = token
        guard case .word = token.kind else {
            guard token.value != nil || token.kind == .argument(isName: false) else {
                throw unexpected("a string or a number")
            }
            return try value(of: try operand(), at: place)
        }
        guard token.keyword.map({ !TextParser.keywords.contains($0) || token.value != nil }) ?? true else {
            if token.isKeyword("NULL") || token.isKeyword("NIL") { throw noNull(at: place) }
            throw unexpected("a string or a number")
        }
        return try value(of: try operand(), at: place)
    }

    private func value(of operand: Operand, at place: Token) throws(PredicateError) -> FieldValue {
        switch operand {
        case .value(let value): return value
        case .nothing: throw noNull(at: place)
        case .list: throw wrongType("one value is needed here, not a list", at: place)
        case .location:
            throw refused(
                "a location can only be compared by its distance: use distanceToLocation:fromLocation:", at: place)
        case .subject, .distance, .words:
            throw refused("a field can only be compared with a value: write a string in quotes", at: place)
        }
    }

    func noNull(at place: Token) -> PredicateError {
        refused(
            "null can be compared only as in title != nil, which finds records that have the field; to find records "
                + "that lack it, let the app save a second field, such as has_title with 0 or 1, and use "
                + "has_title == 0",
            at: place)
    }

    /// Reads `{…}`, or an argument that is a list.
    mutating func list() throws(PredicateError) -> [FieldValue] {
        if token.kind == .argument(isName: false) {
            let place = token
            guard case .list(let values) = try operand() else {
                throw wrongType("the argument here must be a list of values", at: place)
            }
            return values
        }
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
        try advance()
        return values
    }
}
