/// What the clauses so far ask of one field.
struct FieldDemands {
    enum Outcome: Equatable {
        case possible
        /// Why nothing but an empty list satisfies it.
        case onlyEmpty(String)
        case never(String)
    }

    private var value = Demands()
    /// What each element of a list must satisfy.
    private var every = Demands()
    /// What some element must satisfy.
    private var some: [Clause] = []
    private var isOnlyEmpty = false

    /// Of more the rest is not compared with what each element must satisfy.
    private static let someMax = 16

    /// What a look at all values takes.
    var size: Int { value.size + every.size }

    /// Says whether the field can satisfy the clause besides those before.
    mutating func add(_ clause: Clause) -> Outcome {
        if let reason = value.add(clause) { return .never(reason) }
        guard clause.comparator.isForLists else { return .possible }
        if let element = clause.comparator.element {
            return clause.isNegated ? .possible : demand(clause.ofElement(element), asksForType: true)
        }
        guard clause.comparator != .listContainsAll else { return clause.isNegated ? .possible : witnesses(clause) }
        guard let element = clause.comparator.ofSomeElement else { return .possible }
        // An element of another type is none of those that must not be there.
        return clause.isNegated
            ? demand(clause.ofElement(element), asksForType: false) : witness(clause.ofElement(element))
    }

    /// Each element satisfies the clause.
    private mutating func demand(_ clause: Clause, asksForType: Bool) -> Outcome {
        let reason = every.add(clause, asksForType: asksForType)
        if reason != nil || isOnlyEmpty, !some.isEmpty { return .never(none(clause)) }
        if let reason, !isOnlyEmpty {
            isOnlyEmpty = true
            return .onlyEmpty(reason)
        }
        return some.allSatisfy { isPossible($0) } ? .possible : .never(none(clause))
    }

    private mutating func witnesses(_ clause: Clause) -> Outcome {
        for value in clause.values.prefix(FieldDemands.someMax) {
            let outcome = witness(
                Clause(clause.subject, .equals, [value], foldsCase: clause.foldsCase))
            if outcome != .possible { return outcome }
        }
        return .possible
    }

    /// Some element satisfies the clause.
    private mutating func witness(_ clause: Clause) -> Outcome {
        if some.count < FieldDemands.someMax { some.append(clause) }
        return isOnlyEmpty || !isPossible(clause) ? .never(none(clause)) : .possible
    }

    /// Whether an element may satisfy the clause and what each must.
    private func isPossible(_ clause: Clause) -> Bool {
        var both = every
        return both.add(clause) == nil
    }

    private func none(_ clause: Clause) -> String {
        "\(clause.field) has no element that satisfies this and what stands before"
    }
}

extension Clause {
    /// The same asked of one element.
    fileprivate func ofElement(_ comparator: Comparator) -> Clause {
        Clause(subject, comparator, values, foldsCase: foldsCase, isNegated: isNegated)
    }
}

extension Clause.Comparator {
    /// What is asked of some element; nil unless of one.
    fileprivate var ofSomeElement: Clause.Comparator? {
        switch self {
        case .listContains: .equals
        case .listContainsAny: .isIn
        case .listMemberBeginsWith: .beginsWith
        default: nil
        }
    }
}
