/// Finds comparisons of one field that no value satisfies together.
///
/// What it finds is certain; it does not find everything. Alternatives are not looked at.
enum Contradictions {
    /// - Parameter place: Where a clause stands, by its number; nil for `FALSEPREDICATE`.
    static func warnings(
        _ predicate: RecordPredicate, _ place: (Int?) -> PredicateWarning.Place
    ) -> [PredicateWarning] {
        func warning(_ index: Int?, _ reason: String) -> PredicateWarning {
            PredicateWarning(
                code: "predicate.never", place: place(index), reason: "the predicate can never be true: \(reason)")
        }
        if predicate.isNever { return [warning(nil, "FALSEPREDICATE")] }
        var demands: [Clause.Subject: Demands] = [:]
        var warnings: [PredicateWarning] = []
        for (index, clause) in predicate.clauses.enumerated() {
            if let reason = clause.ownContradiction ?? demands[clause.subject, default: Demands()].add(clause) {
                warnings.append(warning(index, reason))
            }
            guard warnings.count < warningsMax else { break }
        }
        return warnings
    }

    /// One would do; a person may mend several at once.
    private static let warningsMax = 10
}

extension Clause {
    /// Why it never holds by itself.
    fileprivate var ownContradiction: String? {
        guard values.isEmpty, !isNegated else { return nil }
        return switch comparator {
        case .isIn, .listContainsAny: "\(field) would have to be in an empty list"
        case .containsAnyWord, .containsAllWords: "the search has no words but stop words"
        default: nil
        }
    }
}

/// What the clauses so far ask of one field.
private struct Demands {
    private enum Kind { case text, number, reference, bytes, location, list }

    private var kind: Kind?
    private var lower: [Bool: Clause] = [:]
    private var upper: [Bool: Clause] = [:]
    /// Beginnings that the field must have, the longest.
    private var prefix: [UInt8]?
    /// Values of which the field must have one; strings folded where any clause so far ignored case.
    private var candidates: Set<Candidate>?
    private var areFolded = false
    /// Values that the field must not have, by whether case is ignored.
    private var excluded: [Bool: Set<Candidate>] = [:]
    private var count = 0

    /// Of more comparisons of one field the rest is not looked at, so that the time stays in proportion to their number.
    private static let clausesMax = 64

    /// - Returns: Why the field cannot satisfy the clause besides those before.
    mutating func add(_ clause: Clause) -> String? {
        count += 1
        // A string may be the base64 of bytes: of those nothing is certain.
        guard count <= Demands.clausesMax, !clause.values.contains(where: \.isBytes) else { return nil }
        return checkKind(clause) ?? (clause.isNegated ? exclude(clause) : narrow(clause))
    }

    private mutating func narrow(_ clause: Clause) -> String? {
        switch clause.comparator {
        case .equals, .isIn: restrict(to: clause)
        case .lessThan, .lessThanOrEquals: bound(clause, isLower: false)
        case .greaterThan, .greaterThanOrEquals: bound(clause, isLower: true)
        case .beginsWith: begin(clause)
        default: nil
        }
    }

    // MARK: Types

    private mutating func checkKind(_ clause: Clause) -> String? {
        guard let asked = kind(of: clause) else { return nil }
        guard let kind else {
            self.kind = asked
            return nil
        }
        return kind == asked ? nil : "\(clause.field) would have to be of two types at once"
    }

    /// nil where any type will do. A negated comparison asks for the type too.
    private func kind(of clause: Clause) -> Kind? {
        if clause.comparator.isForLists { return .list }
        if clause.subject == .allText || clause.comparator == .exists || clause.comparator.isWordSearch { return nil }
        let kinds = Set(clause.values.map(Demands.kind))
        return kinds.count == 1 ? kinds.first : nil
    }

    private static func kind(_ value: FieldValue) -> Kind {
        switch value {
        case .text: .text
        case .integer, .double: .number
        case .reference: .reference
        case .bytes: .bytes
        case .circle: .location
        }
    }

    // MARK: Equal values

    private mutating func restrict(to clause: Clause) -> String? {
        areFolded = areFolded || clause.foldsCase
        let own = Set(clause.values.map { Candidate($0, isFolded: areFolded) })
        let before = candidates.map { areFolded ? Set($0.map(\.folded)) : $0 }
        let left = (before.map { own.intersection($0) } ?? own).filter { isAllowed($0) }
        candidates = left
        return left.isEmpty ? "\(clause.field) has no value that satisfies this and what stands before" : nil
    }

    private mutating func exclude(_ clause: Clause) -> String? {
        guard clause.comparator == .equals || clause.comparator == .isIn else { return nil }
        let values = Set(clause.values.map { Candidate($0, isFolded: clause.foldsCase) })
        excluded[clause.foldsCase, default: []].formUnion(values)
        guard let before = candidates else { return nil }
        let left = before.filter { $0.isText && areFolded != clause.foldsCase || !values.contains($0) }
        candidates = left
        return left.isEmpty && !before.isEmpty
            ? "\(clause.field) has no value that satisfies this and what stands before" : nil
    }

    /// Takes out the candidates that a bound forbids.
    private mutating func filter(_ clause: Clause) -> String? {
        guard let before = candidates else { return nil }
        let left = before.filter { mayHold(clause, $0) }
        candidates = left
        return left.isEmpty && !before.isEmpty
            ? "\(clause.field) has no value that satisfies this and what stands before" : nil
    }

    private func isAllowed(_ candidate: Candidate) -> Bool {
        !isExcluded(candidate)
            && lower.values.allSatisfy { mayHold($0, candidate) } && upper.values.allSatisfy { mayHold($0, candidate) }
            && (prefix.map { candidate.mayBegin(with: $0) } ?? true)
    }

    private func isExcluded(_ candidate: Candidate) -> Bool {
        excluded.contains { foldsCase, values in
            (!candidate.isText || foldsCase == areFolded) && values.contains(candidate)
        }
    }

    /// Whether a bound may hold for a value; true where that depends on the case of letters.
    private func mayHold(_ clause: Clause, _ candidate: Candidate) -> Bool {
        if candidate.isText, areFolded != clause.foldsCase { return true }
        guard let order = candidate.order(clause.values[0]) else { return true }
        return clause.comparator.allows(order)
    }

    // MARK: Ranges and beginnings

    private mutating func bound(_ clause: Clause, isLower: Bool) -> String? {
        let other = isLower ? upper[clause.foldsCase] : lower[clause.foldsCase]
        if let other, clause.crosses(other, isLower: isLower) {
            return "\(clause.field) would have to be in an empty range"
        }
        let own = isLower ? lower[clause.foldsCase] : upper[clause.foldsCase]
        if own.map({ clause.isTighter(than: $0, isLower: isLower) }) ?? true {
            if isLower { lower[clause.foldsCase] = clause } else { upper[clause.foldsCase] = clause }
        }
        return filter(clause)
    }

    private mutating func begin(_ clause: Clause) -> String? {
        guard case .text(let bytes) = clause.values[0] else { return nil }
        if let prefix, !prefix.starts(with: bytes), !bytes.starts(with: prefix) {
            return "\(clause.field) would have to begin in two ways"
        }
        if prefix.map({ $0.count < bytes.count }) ?? true { prefix = bytes }
        guard let before = candidates else { return nil }
        let left = before.filter { $0.mayBegin(with: bytes) }
        candidates = left
        return left.isEmpty && !before.isEmpty ? "\(clause.field) would have to begin with something else" : nil
    }
}

/// A value with one form for equal values.
private struct Candidate: Hashable {
    let value: FieldValue
    let isFolded: Bool

    init(_ value: FieldValue, isFolded: Bool) {
        self.isFolded = isFolded && value.isText
        if case .double(let number) = value, let integer = Int64(exactly: number) {
            self.value = .integer(integer)
        } else {
            self.value = isFolded ? value.caseFolded : value
        }
    }

    var folded: Candidate { Candidate(value, isFolded: true) }

    var isText: Bool { value.isText }

    func order(_ other: FieldValue) -> Int? { value.order(other) }

    func mayBegin(with prefix: [UInt8]) -> Bool {
        guard case .text(let bytes) = value else { return false }
        guard isFolded, case .text(let folded) = FieldValue.text(prefix).caseFolded else {
            return bytes.starts(with: prefix)
        }
        return bytes.starts(with: folded)
    }
}

extension FieldValue {
    /// nil for values of different types, and for those without an order.
    fileprivate func order(_ other: FieldValue) -> Int? {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): Numbers.order(left, right)
        case (.double(let left), .double(let right)): Numbers.order(left, right)
        case (.integer(let left), .double(let right)): Numbers.order(left, right)
        case (.double(let left), .integer(let right)): -Numbers.order(right, left)
        case (.text(let left), .text(let right)):
            left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        default: nil
        }
    }
}

extension Clause {
    /// Whether no value lies between two bounds.
    fileprivate func crosses(_ other: Clause, isLower: Bool) -> Bool {
        let (low, high) = isLower ? (self, other) : (other, self)
        guard let order = low.values[0].order(high.values[0]) else { return false }
        return order > 0 || order == 0 && (low.comparator == .greaterThan || high.comparator == .lessThan)
    }

    fileprivate func isTighter(than other: Clause, isLower: Bool) -> Bool {
        guard let order = values[0].order(other.values[0]) else { return false }
        if order != 0 { return (order > 0) == isLower }
        return comparator == .lessThan || comparator == .greaterThan
    }
}

extension Clause.Comparator {
    /// Whether a value that stands so to the clause's satisfies it.
    fileprivate func allows(_ order: Int) -> Bool {
        switch self {
        case .lessThan: order < 0
        case .lessThanOrEquals: order <= 0
        case .greaterThan: order > 0
        case .greaterThanOrEquals: order >= 0
        default: true
        }
    }
}
