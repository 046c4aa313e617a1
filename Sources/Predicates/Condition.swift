/// Clauses joined by AND and OR, without NOT: a NOT has gone into the clauses, by De Morgan's rules.
///
/// No AND stands directly in an AND, no OR in an OR; neither has fewer than two parts, but for the two constants.
package indirect enum Condition: Sendable, Hashable {
    case clause(Clause)
    case all([Condition])
    case any([Condition])

    static let always = Condition.all([])
    static let never = Condition.any([])

    static func joined(all parts: [Condition]) -> Condition {
        var flat: [Condition] = []
        flat.reserveCapacity(parts.count)
        for part in parts {
            if part == .never { return .never }
            if case .all(let inner) = part { flat += inner } else { flat.append(part) }
        }
        return flat.count == 1 ? flat[0] : .all(flat)
    }

    static func joined(any parts: [Condition]) -> Condition {
        var flat: [Condition] = []
        for part in parts {
            if part == .always { return .always }
            if case .any(let inner) = part { flat += inner } else { flat.append(part) }
        }
        return flat.count == 1 ? flat[0] : .any(flat)
    }
}

extension Condition {
    var searchesWords: Bool {
        switch self {
        case .clause(let clause): clause.comparator.isWordSearch
        case .all(let parts), .any(let parts): parts.contains(where: \.searchesWords)
        }
    }
}

extension Condition {
    /// What an AND joins; the condition itself where it is none.
    var parts: [Condition] { if case .all(let parts) = self { parts } else { [self] } }

    var clauseCount: Int {
        switch self {
        case .clause: 1
        case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.clauseCount }
        }
    }
}

extension RecordPredicate {
    /// All of it; single comparisons stand before alternatives.
    var condition: Condition { isNever ? .never : .joined(all: clauses.map { .clause($0) } + alternatives) }

    /// Whether a comparison looks at single words of a text.
    package var searchesWords: Bool {
        clauses.contains { $0.comparator.isWordSearch } || alternatives.contains(where: \.searchesWords)
    }
}
