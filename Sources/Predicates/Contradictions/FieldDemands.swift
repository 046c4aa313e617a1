/// What the clauses that were added so far demand of one field.
struct FieldDemands {
    enum Outcome: Equatable {
        case possible
        /// Why only an empty list satisfies the clauses.
        case onlyEmpty(String)
        case never(String)
    }

    private var value = Demands()
    /// The demands on each element of a list.
    private var every = Demands()
    /// Clauses that each need at least one element that satisfies them.
    private var some: [Clause] = []
    private var isOnlyEmpty = false

    /// The most clauses in `some`. Further clauses are not kept, so later demands on each element are not compared with
    /// them.
    private static let someMax = 16

    /// How many values a check has to look at.
    var size: Int { value.size + every.size }

    /// Returns whether the field can satisfy the clause and the clauses before it.
    mutating func add(_ clause: Clause) -> Outcome {
        if let reason = value.add(clause) { return .never(reason) }
        guard clause.comparator.isForLists else { return .possible }
        if let element = clause.comparator.element {
            if clause.isNegated { return .possible }
            return addForEachElement(clause.ofElement(element), asksForType: true)
        }
        guard clause.comparator != .listContainsAll else {
            return clause.isNegated ? .possible : addForElements(clause)
        }
        guard let element = clause.comparator.ofSomeElement else { return .possible }
        // A list that satisfies a negated clause may also have elements of other types.
        return clause.isNegated
            ? addForEachElement(clause.ofElement(element), asksForType: false)
            : addForSomeElement(clause.ofElement(element))
    }

    /// Adds a clause that each element must satisfy.
    private mutating func addForEachElement(_ clause: Clause, asksForType: Bool) -> Outcome {
        let reason = every.add(clause, asksForType: asksForType)
        if reason != nil || isOnlyEmpty, !some.isEmpty { return .never(noElement(for: clause)) }
        if let reason, !isOnlyEmpty {
            isOnlyEmpty = true
            return .onlyEmpty(reason)
        }
        return some.allSatisfy { isPossible($0) } ? .possible : .never(noElement(for: clause))
    }

    /// Adds a clause that demands an element for each of its values. Only the first ``someMax`` values are checked.
    private mutating func addForElements(_ clause: Clause) -> Outcome {
        for value in clause.values.prefix(FieldDemands.someMax) {
            let outcome = addForSomeElement(Clause(clause.subject, .equals, [value], foldsCase: clause.foldsCase))
            if outcome != .possible { return outcome }
        }
        return .possible
    }

    /// Adds a clause that some element must satisfy.
    private mutating func addForSomeElement(_ clause: Clause) -> Outcome {
        if some.count < FieldDemands.someMax { some.append(clause) }
        return isOnlyEmpty || !isPossible(clause) ? .never(noElement(for: clause)) : .possible
    }

    /// Whether an element can satisfy the clause and the demands on each element.
    private func isPossible(_ clause: Clause) -> Bool {
        var both = every
        return both.add(clause) == nil
    }

    private func noElement(for clause: Clause) -> String {
        "no element of \(clause.field) can satisfy this comparison and the others that must hold with it"
    }
}

extension Clause {
    /// The clause for one element.
    fileprivate func ofElement(_ comparator: Comparator) -> Clause {
        Clause(subject, comparator, values, foldsCase: foldsCase, isNegated: isNegated)
    }
}

extension Clause.Comparator {
    /// The comparator for one element, if one element that satisfies it is enough; nil for other comparators.
    fileprivate var ofSomeElement: Clause.Comparator? {
        switch self {
        case .listContains: .equals
        case .listContainsAny: .isIn
        case .listMemberBeginsWith: .beginsWith
        default: nil
        }
    }
}
