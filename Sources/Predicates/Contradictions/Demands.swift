/// What the clauses that were added so far demand of one value. The value is a field, or each element of a list.
struct Demands {
    private enum Kind { case text, number, reference, bytes, location, list }

    private var kind: Kind?
    /// The highest lower bound. The key says whether the bound ignores case.
    private var lower: [Bool: Clause] = [:]
    /// The lowest upper bound. The key says whether the bound ignores case.
    private var upper: [Bool: Clause] = [:]
    /// The longest beginning that the value must have.
    private var prefix: [UInt8]?
    /// The only possible values; nil if no clause lists them. Strings are folded if any of the clauses that list values
    /// ignores case.
    private var candidates: Set<Candidate>?
    private var areCandidatesFolded = false
    /// The values that the clauses exclude. The key says whether case is ignored.
    private var excluded: [Bool: Set<Candidate>] = [:]

    /// How many values a check has to look at.
    var size: Int { (candidates?.count ?? 0) + excluded.values.reduce(0) { $0 + $1.count } }

    /// - Parameter asksForType: Whether only a value of the clause's type satisfies the clause.
    /// - Returns: Why no value can satisfy the clause and the clauses before it; nil if some value may.
    mutating func add(_ clause: Clause, asksForType: Bool = true) -> String? {
        // Bytes and now() lead to no certain demand: a string may be the base64 of the bytes, and now() may be any
        // time.
        guard clause.values.first != .now, !clause.values.contains(where: \.isBytes) else { return nil }
        if asksForType, let reason = checkKind(clause) { return reason }
        return clause.isNegated ? exclude(clause) : narrow(clause)
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

    /// The type that the clause requires; nil if values of several types may satisfy the clause. A negated comparison
    /// also requires a type.
    private func kind(of clause: Clause) -> Kind? {
        if clause.comparator.isForLists { return .list }
        if clause.subject == .allText || clause.comparator == .exists || clause.comparator.isWordSearch { return nil }
        let kinds = Set(clause.values.map(Demands.kind))
        return kinds.count == 1 ? kinds.first : nil
    }

    private static func kind(_ value: FieldValue) -> Kind {
        switch value {
        case .text: .text
        case .integer, .double, .now: .number
        case .reference: .reference
        case .bytes: .bytes
        case .circle: .location
        }
    }

    // MARK: Equal values

    private mutating func restrict(to clause: Clause) -> String? {
        areCandidatesFolded = areCandidatesFolded || clause.foldsCase
        let own = Set(clause.values.map { Candidate($0, isFolded: areCandidatesFolded) })
        let before = candidates.map { areCandidatesFolded ? Set($0.map(\.folded)) : $0 }
        let left = (before.map { own.intersection($0) } ?? own).filter { isAllowed($0) }
        candidates = left
        return left.isEmpty ? clause.noValue : nil
    }

    private mutating func exclude(_ clause: Clause) -> String? {
        guard clause.comparator == .equals || clause.comparator == .isIn else { return nil }
        let values = Set(clause.values.map { Candidate($0, isFolded: clause.foldsCase) })
        excluded[clause.foldsCase, default: []].formUnion(values)
        guard let before = candidates else { return nil }
        let left = before.filter { $0.value.isText && areCandidatesFolded != clause.foldsCase || !values.contains($0) }
        candidates = left
        return left.isEmpty && !before.isEmpty ? clause.noValue : nil
    }

    /// Removes the candidates that a bound forbids.
    private mutating func filter(_ clause: Clause) -> String? {
        guard let before = candidates else { return nil }
        let left = before.filter { mayHold(clause, $0) }
        candidates = left
        return left.isEmpty && !before.isEmpty ? clause.noValue : nil
    }

    private func isAllowed(_ candidate: Candidate) -> Bool {
        !isExcluded(candidate)
            && lower.values.allSatisfy { mayHold($0, candidate) } && upper.values.allSatisfy { mayHold($0, candidate) }
            && (prefix.map { candidate.mayBegin(with: $0) } ?? true)
    }

    private func isExcluded(_ candidate: Candidate) -> Bool {
        excluded.contains { foldsCase, values in
            (!candidate.value.isText || foldsCase == areCandidatesFolded) && values.contains(candidate)
        }
    }

    /// Whether a candidate may be within a bound. Also true if the candidate cannot be compared with the bound, for
    /// example because the case is folded in only one of them.
    private func mayHold(_ clause: Clause, _ candidate: Candidate) -> Bool {
        if candidate.value.isText, areCandidatesFolded != clause.foldsCase { return true }
        guard let order = candidate.value.order(clause.values[0]) else { return true }
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
            return "\(clause.field) would have to begin with two different strings"
        }
        if prefix.map({ $0.count < bytes.count }) ?? true { prefix = bytes }
        guard let before = candidates else { return nil }
        let left = before.filter { $0.mayBegin(with: bytes) }
        candidates = left
        return left.isEmpty && !before.isEmpty ? "no possible value of \(clause.field) begins with this text" : nil
    }
}

extension Clause {
    fileprivate var noValue: String {
        "no value of \(field) can satisfy this comparison and the others that must hold with it"
    }

    /// Whether no value is within both bounds.
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
    /// Whether a value with this order relative to the clause's value satisfies the clause.
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
