import JSON

extension Clause {
    /// Whether the comparison holds. False for a missing field and for a field of another type.
    ///
    /// For ``Subject/allText`` call ``holdsForWords(of:)`` instead.
    @inline(__always)
    package func holds(for view: FieldView) -> Bool {
        guard let outcome = compare(view) else { return false }
        return outcome != isNegated
    }

    /// Like ``holds(for:)``, for a field dictionary. Also compares the type, if the dictionary has one.
    func holds(forField field: JSONValue) -> Bool {
        switch allowed(by: field) {
        case .all: holds(for: FieldView(field: field))
        case .some(let clause): clause.holds(for: FieldView(field: field))
        case .none: false
        }
    }

    /// Which of a clause's values may be compared with a field, according to the field's `type`.
    enum AllowedValues {
        case all
        /// A copy of the clause with only those of its values that the type allows.
        case some(Clause)
        case none
    }

    /// The type matters only for bytes and strings, because both are JSON strings. Without a type, and for an empty
    /// list, every comparison is allowed.
    func allowed(by field: JSONValue) -> AllowedValues {
        guard let type = field["type"] else { return .all }
        let (isBytes, isText) = (type.isTypeOfBytes, type.equals("STRING") || type.equals("STRING_LIST"))
        guard isBytes || isText else { return .all }
        let hasBytes = sortedValues?.hasBytes ?? values.contains(where: \.isBytes)
        let hasText = sortedValues?.hasText ?? values.contains(where: \.isText)
        if !hasBytes, !hasText { return .all }
        if let value = field["value"], value.isArray, value.count == 0 { return .all }
        guard hasBytes, hasText else { return hasBytes == isBytes ? .all : .none }
        // A field's list never has both bytes and strings, so it cannot contain all of these values.
        guard comparator != .listContainsAll else { return .none }
        let allowed = values.filter { isBytes ? !$0.isText : !$0.isBytes }
        return .some(Clause(self, allowed, sortedValues?.allowed(forBytes: isBytes)))
    }

    /// The result of the comparison without the negation; nil if the field cannot be compared with the values.
    @inline(__always)
    func compare(_ view: FieldView) -> Bool? {
        switch comparator {
        case .equals: view.order(values[0], foldsCase).map { $0 == 0 }
        case .lessThan: view.order(values[0], foldsCase).map { $0 < 0 }
        case .lessThanOrEquals: view.order(values[0], foldsCase).map { $0 <= 0 }
        case .greaterThan: view.order(values[0], foldsCase).map { $0 > 0 }
        case .greaterThanOrEquals: view.order(values[0], foldsCase).map { $0 >= 0 }
        case .isIn: isAnyValue(view)
        case .beginsWith: view.begins(with: values[0])
        default: compareOtherwise(view)
        }
    }

    private func isAnyValue(_ view: FieldView) -> Bool? {
        guard view.isComparable else { return nil }
        if let sortedValues { return sortedValues.contains(view, foldsCase) }
        var outcome = values.isEmpty ? false : nil as Bool?
        for value in values {
            guard let order = view.order(value, foldsCase) else { continue }
            if order == 0 { return true }
            outcome = false
        }
        return outcome
    }

    @inline(never)
    private func compareOtherwise(_ view: FieldView) -> Bool? {
        switch comparator {
        case .listContains: view.anyElement { $0.order(values[0], foldsCase).map { $0 == 0 } }
        case .listContainsAny: view.anyElement { isAnyValue($0) }
        case .listMemberBeginsWith: view.anyElement { $0.begins(with: values[0]) }
        case .listContainsAll: containsAll(view)
        case .exists: view.isNothing ? nil : true
        case .isNear: view.isInside(values[0])
        case .containsAnyWord, .containsAllWords: containsWords(view)
        case .every(let test): isEvery(test, view)
        default: nil
        }
    }

    private func containsAll(_ view: FieldView) -> Bool? {
        guard case .list(let list) = view else { return nil }
        if let sortedValues { return sortedValues.areAll(in: list, foldsCase) }
        var all = true
        for value in values {
            guard let isHeld = contains(value, view) else { return nil }
            all = all && isHeld
        }
        return all
    }

    // This is a function of its own because the optimizer of Swift 6.3 crashes if the code is inside the loop.
    @inline(never)
    private func contains(_ value: FieldValue, _ view: FieldView) -> Bool? {
        view.anyElement { $0.order(value, foldsCase).map { $0 == 0 } }
    }

    private func isEvery(_ test: Test, _ view: FieldView) -> Bool? {
        guard case .list(let list) = view else { return nil }
        var (allPass, isComparable) = (true, list.count == 0)
        for element in list.elements {
            let outcome = passes(test, FieldView(scalar: element))
            allPass = allPass && outcome ?? false
            isComparable = isComparable || outcome != nil
        }
        return isComparable ? allPass : nil
    }

    private func passes(_ test: Test, _ view: FieldView) -> Bool? {
        switch test {
        case .isIn: isAnyValue(view)
        case .beginsWith: view.begins(with: values[0])
        case .equals: view.order(values[0], foldsCase).map { $0 == 0 }
        case .lessThan: view.order(values[0], foldsCase).map { $0 < 0 }
        case .lessThanOrEquals: view.order(values[0], foldsCase).map { $0 <= 0 }
        case .greaterThan: view.order(values[0], foldsCase).map { $0 > 0 }
        case .greaterThanOrEquals: view.order(values[0], foldsCase).map { $0 >= 0 }
        }
    }
}

// MARK: - Words

extension Clause {
    /// Whether the string fields together contain all words of the search, or any of them for `containsAnyWord`. Only
    /// for ``Subject/allText``.
    ///
    /// - Parameter fields: Field dictionaries by name.
    package func holdsForWords(of fields: JSONValue?) -> Bool {
        var search = WordSearch(values, all: comparator == .containsAllWords)
        guard let fields else { return false }
        for (_, field) in fields.members {
            if Clause.mayContainWords(field["type"]) { look(&search, in: FieldView(field: field)) }
            if search.hasSucceeded { return true }
        }
        return false
    }

    /// Whether a field of this type may contain words. True for a field without a type.
    package static func mayContainWords(_ type: JSONValue?) -> Bool {
        type.map { $0.equals("STRING") || $0.equals("STRING_LIST") || $0.equals("UNKNOWN_LIST") } ?? true
    }

    private func containsWords(_ view: FieldView) -> Bool? {
        var search = WordSearch(values, all: comparator == .containsAllWords)
        return look(&search, in: view) ? search.hasSucceeded : nil
    }

    /// - Returns: Whether the field is a string, a list with a string, or an empty list.
    @discardableResult
    private func look(_ search: inout WordSearch, in view: FieldView) -> Bool {
        switch view {
        case .text(let text):
            text.withUTF8 { search.look(in: $0) }
            return true
        case .list(let list):
            var isText = list.count == 0
            for element in list.elements {
                if element.withUTF8({ search.look(in: $0) }) != nil { isText = true }
            }
            return isText
        default: return false
        }
    }
}
