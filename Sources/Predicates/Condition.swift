/// Clauses joined by AND and OR. A NOT has been moved into the clauses by De Morgan's rules.
///
/// A direct part of an AND is never an AND, and a direct part of an OR is never an OR. Each has at least two parts. The
/// exceptions are ``always`` (an empty AND) and ``never`` (an empty OR).
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

    /// The parts of an AND. Any other condition has one part: itself.
    var parts: [Condition] { if case .all(let parts) = self { parts } else { [self] } }

    var clauseCount: Int {
        switch self {
        case .clause: 1
        case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.clauseCount }
        }
    }
}

extension RecordPredicate {
    /// The whole predicate: the clauses first, then the alternatives.
    var condition: Condition { isNever ? .never : .joined(all: clauses.map { .clause($0) } + alternatives) }

    /// Whether a clause searches for words in a text.
    package var searchesWords: Bool {
        clauses.contains { $0.comparator.isWordSearch } || alternatives.contains(where: \.searchesWords)
    }
}
