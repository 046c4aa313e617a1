/// One comparison in the predicate of a subscription: an element of CloudKit's `filterBy`.
struct WorkloadClause {
    let field: WorkloadField
    let comparator: String
    let values: [WorkloadValue]
    let takesList: Bool

    init(_ field: WorkloadField, _ comparator: String, _ value: WorkloadValue) {
        (self.field, self.comparator, values, takesList) = (field, comparator, [value], false)
    }

    init(_ field: WorkloadField, _ comparator: String, list values: [WorkloadValue]) {
        (self.field, self.comparator, self.values, takesList) = (field, comparator, values, true)
    }
}

extension MatchWorkload {
    /// The clauses of one predicate. ``MatchWorkload`` explains anchors and plain fields.
    func clauses(_ type: RecordType, isPublic: Bool, _ random: inout WorkloadRandom) -> [WorkloadClause] {
        let roll = random.below(1000)
        if roll < 2, type.plain.contains(where: \.isChoice) { return [negativeClause(type, &random)] }
        let isAnchored = roll < (isPublic ? 900 : 300)
        return isDense ? denseClauses(type, roll, &random) : clauses(type, isAnchored: isAnchored, &random)
    }

    /// In seven of ten predicates, the clauses of one or two plain fields. In the other three, only the first of these
    /// clauses, and the clause of an anchor.
    private func denseClauses(_ type: RecordType, _ roll: Int, _ random: inout WorkloadRandom) -> [WorkloadClause] {
        let clauses = random.sample(type.plain, 1 + random.below(2)).flatMap { plainClauses($0, &random) }
        return roll < 700 ? clauses : clauses.prefix(1) + [anchorClause(type.anchors[random.below(2)], &random)]
    }

    /// The clauses of an anchor and up to three plain fields, or of two to five plain fields. In half of the predicates
    /// with an anchor, the anchor's clause is put first. Otherwise the order is random.
    private func clauses(_ type: RecordType, isAnchored: Bool, _ random: inout WorkloadRandom) -> [WorkloadClause] {
        let count = isAnchored ? random.weighted([30, 65, 90, 100]) : 2 + random.weighted([20, 60, 90, 100])
        var clauses = random.sample(type.plain, count).flatMap { plainClauses($0, &random) }
        if isAnchored { clauses.append(anchorClause(type.anchors[random.chance(70) ? 0 : 1], &random)) }
        return random.chance(50) ? random.sample(clauses, clauses.count) : clauses.reversed()
    }

    private func anchorClause(_ field: WorkloadField, _ random: inout WorkloadRandom) -> WorkloadClause {
        if field.isList { return WorkloadClause(field, "LIST_CONTAINS", value(field, &random)) }
        if random.chance(92) { return WorkloadClause(field, "EQUALS", value(field, &random)) }
        return WorkloadClause(field, "IN", list: severalValues(field, drawsMax: 8, &random))
    }

    /// A clause that excludes values, so that no index can serve it.
    private func negativeClause(_ type: RecordType, _ random: inout WorkloadRandom) -> WorkloadClause {
        let field = random.sample(type.plain.filter(\.isChoice), 1)[0]
        guard case .choice(let values, _) = field.values else {
            preconditionFailure("\(field.name) has no list of values")
        }
        if random.chance(70) { return WorkloadClause(field, "NOT_EQUALS", .text(values[0])) }
        return WorkloadClause(field, "NOT_IN", list: values.prefix(3).sorted().map { .text($0) })
    }
}

// MARK: - Plain fields

extension MatchWorkload {
    private func plainClauses(_ field: WorkloadField, _ random: inout WorkloadRandom) -> [WorkloadClause] {
        let roll = random.below(100)
        switch field.values {
        case .someOf: return [listClause(field, roll, &random)]
        case .title: return [prefixClause(field, letters: nil, &random)]
        case .choice: return [choiceClause(field, roll, &random)]
        case .integers(let limit, _) where limit < 100:
            return smallNumberClause(field, limit, roll, &random).map { [$0] } ?? orderClauses(field, roll, &random)
        default: return orderClauses(field, roll, &random)
        }
    }

    private func listClause(_ field: WorkloadField, _ roll: Int, _ random: inout WorkloadRandom) -> WorkloadClause {
        if roll < (isDense ? 40 : 88) { return WorkloadClause(field, "LIST_CONTAINS", value(field, &random)) }
        let comparator = roll < (isDense ? 70 : 95) ? "LIST_CONTAINS_ANY" : "LIST_CONTAINS_ALL"
        return WorkloadClause(field, comparator, list: severalValues(field, drawsMax: 3, &random))
    }

    /// - Parameter letters: The length of the prefix; nil for a random length from 3 to 7. The prefix loses a space at
    ///   its end.
    private func prefixClause(_ field: WorkloadField, letters: Int?, _ random: inout WorkloadRandom) -> WorkloadClause {
        guard case .text(let text) = value(field, &random) else {
            preconditionFailure("\(field.name) is not a text field")
        }
        let start = text.prefix(letters ?? 3 + random.below(5))
        return WorkloadClause(field, "BEGINS_WITH", .text(String(start.last == " " ? start.dropLast() : start)))
    }

    private func choiceClause(_ field: WorkloadField, _ roll: Int, _ random: inout WorkloadRandom) -> WorkloadClause {
        switch roll {
        case ..<15 where field.name == "city": prefixClause(field, letters: 4, &random)
        case ..<72: WorkloadClause(field, "EQUALS", value(field, &random))
        case ..<80: WorkloadClause(field, "NOT_EQUALS", value(field, &random))
        default: WorkloadClause(field, roll < 97 ? "IN" : "NOT_IN", list: severalValues(field, drawsMax: 5, &random))
        }
    }

    /// A clause of a field with few different numbers; nil if the predicate gets ``orderClauses(_:_:_:)`` instead.
    private func smallNumberClause(
        _ field: WorkloadField, _ limit: Int, _ roll: Int, _ random: inout WorkloadRandom
    ) -> WorkloadClause? {
        switch roll {
        case ..<45: WorkloadClause(field, "EQUALS", value(field, &random))
        case _ where limit == 2: WorkloadClause(field, "EQUALS", value(field, &random))
        case ..<55: WorkloadClause(field, "NOT_EQUALS", value(field, &random))
        case ..<65: WorkloadClause(field, "IN", list: severalValues(field, drawsMax: 4, &random))
        default: nil
        }
    }

    private static let orderComparators = [
        "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS",
    ]

    /// Clauses for one bound or for both bounds of a range of the field's values.
    private func orderClauses(_ field: WorkloadField, _ roll: Int, _ random: inout WorkloadRandom) -> [WorkloadClause] {
        if roll < 80 {
            let order = MatchWorkload.orderComparators[random.below(4)]
            return [WorkloadClause(field, order, value(field, &random))]
        }
        let start = value(field, &random)
        let end = end(of: field, from: start, percent: 2 + random.skewed(24))
        return [
            WorkloadClause(field, "GREATER_THAN_OR_EQUALS", start), WorkloadClause(field, "LESS_THAN_OR_EQUALS", end),
        ]
    }
}
