/// One filter of a query.
struct WorkloadClause {
    let field: WorkloadField
    let comparator: String
    let values: [WorkloadValue]
    let takesList: Bool

    init(_ field: WorkloadField, _ comparator: String, _ value: WorkloadValue) {
        (self.field, self.comparator, values, takesList) = (field, comparator, [value], false)
    }

    init(_ field: WorkloadField, _ comparator: String, anyOf values: [WorkloadValue]) {
        (self.field, self.comparator, self.values, takesList) = (field, comparator, values, true)
    }
}

extension MatchWorkload {
    func clauses(_ type: RecordType, isPublic: Bool, _ draw: inout WorkloadDraw) -> [WorkloadClause] {
        let roll = draw.below(1000)
        if roll < 2, type.plain.contains(where: \.isChoice) { return [negative(type, &draw)] }
        let isAnchored = roll < (isPublic ? 900 : 300)
        return isDense ? denseClauses(type, roll, &draw) : clauses(type, isAnchored: isAnchored, &draw)
    }

    /// One or two fields; in three of ten predicates one of them and an anchor.
    private func denseClauses(_ type: RecordType, _ roll: Int, _ draw: inout WorkloadDraw) -> [WorkloadClause] {
        let clauses = draw.sample(type.plain, 1 + draw.below(2)).flatMap { plainClauses($0, &draw) }
        return roll < 700 ? clauses : clauses.prefix(1) + [anchorClause(type.anchors[draw.below(2)], &draw)]
    }

    /// With an anchor up to three more fields, without one two to five; in an order that tells nothing.
    private func clauses(_ type: RecordType, isAnchored: Bool, _ draw: inout WorkloadDraw) -> [WorkloadClause] {
        let count = isAnchored ? draw.weighted([30, 65, 90, 100]) : 2 + draw.weighted([20, 60, 90, 100])
        var clauses = draw.sample(type.plain, count).flatMap { plainClauses($0, &draw) }
        if isAnchored { clauses.append(anchorClause(type.anchors[draw.chance(70) ? 0 : 1], &draw)) }
        return draw.chance(50) ? draw.sample(clauses, clauses.count) : clauses.reversed()
    }

    private func anchorClause(_ field: WorkloadField, _ draw: inout WorkloadDraw) -> WorkloadClause {
        if field.isList { return WorkloadClause(field, "LIST_CONTAINS", value(field, &draw)) }
        if draw.chance(92) { return WorkloadClause(field, "EQUALS", value(field, &draw)) }
        return WorkloadClause(field, "IN", anyOf: several(field, most: 8, &draw))
    }

    /// What only says what a field is not.
    private func negative(_ type: RecordType, _ draw: inout WorkloadDraw) -> WorkloadClause {
        let field = draw.sample(type.plain.filter(\.isChoice), 1)[0]
        guard case .choice(let values, _) = field.values else {
            preconditionFailure("it was chosen for being a choice")
        }
        if draw.chance(70) { return WorkloadClause(field, "NOT_EQUALS", .text(values[0])) }
        return WorkloadClause(field, "NOT_IN", anyOf: values.prefix(3).sorted().map { .text($0) })
    }
}

// MARK: - Plain fields

extension MatchWorkload {
    private func plainClauses(_ field: WorkloadField, _ draw: inout WorkloadDraw) -> [WorkloadClause] {
        let roll = draw.below(100)
        switch field.values {
        case .someOf: return [listClause(field, roll, &draw)]
        case .title: return [beginning(field, letters: nil, &draw)]
        case .choice: return [choiceClause(field, roll, &draw)]
        case .integers(let limit, _) where limit < 100:
            return smallClause(field, limit, roll, &draw).map { [$0] } ?? ordered(field, roll, &draw)
        default: return ordered(field, roll, &draw)
        }
    }

    private func listClause(_ field: WorkloadField, _ roll: Int, _ draw: inout WorkloadDraw) -> WorkloadClause {
        if roll < (isDense ? 40 : 88) { return WorkloadClause(field, "LIST_CONTAINS", value(field, &draw)) }
        let comparator = roll < (isDense ? 70 : 95) ? "LIST_CONTAINS_ANY" : "LIST_CONTAINS_ALL"
        return WorkloadClause(field, comparator, anyOf: several(field, most: 3, &draw))
    }

    /// - Parameter letters: How many; nil for 3 to 7, but no blank at the end.
    private func beginning(_ field: WorkloadField, letters: Int?, _ draw: inout WorkloadDraw) -> WorkloadClause {
        guard case .text(let text) = value(field, &draw) else { preconditionFailure("what begins is a text") }
        let start = text.prefix(letters ?? 3 + draw.below(5))
        return WorkloadClause(field, "BEGINS_WITH", .text(String(start.last == " " ? start.dropLast() : start)))
    }

    private func choiceClause(_ field: WorkloadField, _ roll: Int, _ draw: inout WorkloadDraw) -> WorkloadClause {
        switch roll {
        case ..<15 where field.name == "city": beginning(field, letters: 4, &draw)
        case ..<72: WorkloadClause(field, "EQUALS", value(field, &draw))
        case ..<80: WorkloadClause(field, "NOT_EQUALS", value(field, &draw))
        default: WorkloadClause(field, roll < 97 ? "IN" : "NOT_IN", anyOf: several(field, most: 5, &draw))
        }
    }

    /// Of numbers of which there are few; nil where they are to be ordered.
    private func smallClause(
        _ field: WorkloadField, _ limit: Int, _ roll: Int, _ draw: inout WorkloadDraw
    ) -> WorkloadClause? {
        switch roll {
        case ..<45: WorkloadClause(field, "EQUALS", value(field, &draw))
        case _ where limit == 2: WorkloadClause(field, "EQUALS", value(field, &draw))
        case ..<55: WorkloadClause(field, "NOT_EQUALS", value(field, &draw))
        case ..<65: WorkloadClause(field, "IN", anyOf: several(field, most: 4, &draw))
        default: nil
        }
    }

    private static let orders = ["LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS"]

    /// One bound, or both.
    private func ordered(_ field: WorkloadField, _ roll: Int, _ draw: inout WorkloadDraw) -> [WorkloadClause] {
        if roll < 80 {
            let order = MatchWorkload.orders[draw.below(4)]
            return [WorkloadClause(field, order, value(field, &draw))]
        }
        let start = value(field, &draw)
        let end = end(of: field, from: start, percent: 2 + draw.skewed(24))
        return [
            WorkloadClause(field, "GREATER_THAN_OR_EQUALS", start), WorkloadClause(field, "LESS_THAN_OR_EQUALS", end),
        ]
    }
}
