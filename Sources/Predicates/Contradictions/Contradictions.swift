/// Finds comparisons that no record can satisfy together.
///
/// Each finding is certain, but not every contradiction is found. Each side of an OR is checked together with the
/// comparisons outside the OR.
struct Contradictions {
    /// Why a comparison cannot hold together with the others.
    private struct Reason {
        /// The comparison's number in the condition.
        let clause: Int
        var text: String
    }

    private var demands: [Clause.Subject: FieldDemands] = [:]
    /// The demands to restore after the current side of an OR.
    private var overlaid: [(subject: Clause.Subject, before: FieldDemands?)] = []
    private var depth = 0
    /// How many more values and comparisons may be checked. This limits the time.
    private var budget = 200_000
    private var neverSides: [Reason] = []
    private var onlyEmpty: [Reason] = []

    private static let warningsMax = 10

    /// - Parameter position: Returns the position of the clause with a given number in the condition. For nil, it
    ///   returns the position of the part that makes the whole condition false, such as `FALSEPREDICATE`.
    /// - Returns: At most ``warningsMax`` warnings. Warnings about the whole predicate come first.
    static func warnings(
        _ condition: Condition, _ position: (Int?) -> PredicateWarning.Position
    ) -> [PredicateWarning] {
        if condition == .never { return [.never(PredicateWarning.falsePart, at: position(nil))] }
        var search = Contradictions()
        let reasons = search.look(at: condition.parts, from: 0)
        let warnings =
            reasons.map { PredicateWarning.never($0.text, at: position($0.clause)) }
            + search.neverSides.map { .neverSide($0.text, at: position($0.clause)) }
            + search.onlyEmpty.map { .onlyEmpty($0.text, at: position($0.clause)) }
        return Array(warnings.prefix(warningsMax))
    }

    /// Checks parts that must all hold.
    ///
    /// - Parameter first: The number that the first comparison of the parts has in the condition.
    /// - Returns: Why the parts can never hold together; empty if they may.
    private mutating func look(at parts: [Condition], from first: Int) -> [Reason] {
        var (reasons, number, alternatives) = ([Reason](), first, [(sides: [Condition], number: Int)]())
        for part in parts {
            switch part {
            case .clause(let clause): reasons += add(clause, number)
            case .any(let sides): alternatives.append((sides, number))
            case .all: break
            }
            number += part.clauseCount
        }
        for alternative in alternatives { reasons += look(atSides: alternative.sides, from: alternative.number) }
        return reasons
    }

    /// Checks the sides of an OR. At least one side must hold.
    private mutating func look(atSides sides: [Condition], from first: Int) -> [Reason] {
        var (never, number) = ([Reason](), first)
        let before = neverSides.count
        for side in sides {
            if let reason = look(atSide: side, from: number) { never.append(reason) }
            number += side.clauseCount
        }
        guard never.count == sides.count else {
            neverSides += never
            if let union = Clause(anyOf: sides) { _ = add(union, first) }
            return []
        }
        neverSides.removeSubrange(before...)
        return never.map { Reason(clause: $0.clause, text: "no side of OR can be true; on this side, \($0.text)") }
    }

    private mutating func look(atSide side: Condition, from first: Int) -> Reason? {
        let (outside, sides, empty) = (overlaid.count, neverSides.count, onlyEmpty.count)
        depth += 1
        let reason = look(at: side.parts, from: first).first
        depth -= 1
        while overlaid.count > outside, let last = overlaid.popLast() { demands[last.subject] = last.before }
        guard reason != nil else { return nil }
        // The whole side is impossible, so warnings about its parts do not matter.
        neverSides.removeSubrange(sides...)
        onlyEmpty.removeSubrange(empty...)
        return reason
    }

    private mutating func add(_ clause: Clause, _ number: Int) -> [Reason] {
        if let text = clause.ownContradiction { return [Reason(clause: number, text: text)] }
        budget -= 1 + clause.values.count + (demands[clause.subject]?.size ?? 0)
        guard budget > 0 else { return [] }
        if depth > 0 { overlaid.append((clause.subject, demands[clause.subject])) }
        switch demands[clause.subject, default: FieldDemands()].add(clause) {
        case .possible: return []
        case .onlyEmpty(let text):
            onlyEmpty.append(Reason(clause: number, text: text))
            return []
        case .never(let text): return [Reason(clause: number, text: text)]
        }
    }
}

extension Clause {
    /// Why the comparison can never hold, whatever the other comparisons are; nil if it may hold.
    var ownContradiction: String? {
        guard values.isEmpty, !isNegated else { return nil }
        return switch comparator {
        case .isIn: "\(field) would have to be in an empty list"
        case .listContainsAny: "an element of \(field) would have to be in an empty list"
        case .containsAnyWord, .containsAllWords: "the search has no words, or only stop words"
        default: nil
        }
    }

    /// Combines comparisons that are joined by OR into one `isIn` comparison. Nil unless all of them are `equals` or
    /// `isIn` comparisons of the same field, without negation and with the same `foldsCase`.
    init?(anyOf sides: [Condition]) {
        guard case .clause(let first)? = sides.first else { return nil }
        var values: [FieldValue] = []
        for side in sides {
            guard case .clause(let clause) = side, clause.comparator == .equals || clause.comparator == .isIn,
                !clause.isNegated, clause.subject == first.subject, clause.foldsCase == first.foldsCase
            else { return nil }
            values += clause.values
        }
        self.init(first.subject, .isIn, values, foldsCase: first.foldsCase)
    }
}
