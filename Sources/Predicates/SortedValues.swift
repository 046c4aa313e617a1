import CloudKitModel
import JSON

/// The values of a comparison with many values, grouped by kind and sorted. Finding a field among them takes a few
/// comparisons instead of one for each value.
///
/// Clauses with equal ``Clause/values`` have equal sorted values. So `==` is always true here, and nothing is hashed.
final class SortedValues: Sendable, Hashable {
    /// For fewer values, a loop over all of them is as fast.
    static let countMin = 17

    private let groups: [Group]

    private init(groups: [Group]) { self.groups = groups }

    /// Nil for few values, and for values that have no order.
    convenience init?(_ values: [FieldValue]) {
        guard values.count >= SortedValues.countMin else { return nil }
        var byKind: [Kind: [FieldValue]] = [:]
        for value in values {
            guard let kind = Kind(value) else { return nil }
            byKind[kind, default: []].append(value)
        }
        self.init(groups: byKind.map { Group($0.key, $0.value) })
    }

    var hasText: Bool { groups.contains { $0.kind == .text } }
    var hasBytes: Bool { groups.contains { $0.kind == .bytes } }

    /// The values that may be compared with a field of bytes (all except strings) or a field of strings (all except
    /// bytes).
    func allowed(forBytes: Bool) -> SortedValues {
        SortedValues(groups: groups.filter { $0.kind != (forBytes ? .text : .bytes) })
    }

    /// Whether the field is equal to a value; nil if it cannot be compared with any value.
    func contains(_ view: FieldView, _ foldsCase: Bool) -> Bool? {
        var outcome: Bool?
        for group in groups where group.kind.fits(view) {
            if group.index(of: view, foldsCase) != nil { return true }
            outcome = false
        }
        return outcome
    }

    /// Whether the list contains all values. Nil if the list has elements, but at least one of the values cannot be
    /// compared with any element.
    func areAll(in list: JSONValue, _ foldsCase: Bool) -> Bool? {
        guard list.count > 0 else { return false }
        var found = groups.map { [Bool](repeating: false, count: $0.values.count) }
        var areComparable = groups.map { _ in false }
        var missing = groups.reduce(0) { $0 + $1.values.count }
        for element in list.elements {
            let view = FieldView(scalar: element)
            for (number, group) in groups.enumerated() where group.kind.fits(view) {
                areComparable[number] = true
                guard let index = group.index(of: view, foldsCase), !found[number][index] else { continue }
                found[number][index] = true
                missing -= 1
            }
            if missing == 0 { return true }
        }
        return areComparable.allSatisfy(\.self) ? false : nil
    }

    static func == (left: SortedValues, right: SortedValues) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}

extension SortedValues {
    /// Values of one kind can be compared with the same fields.
    private enum Kind {
        case text, bytes, number, reference

        /// Nil for a value that is not compared by order.
        init?(_ value: FieldValue) {
            switch value {
            case .text: self = .text
            case .bytes: self = .bytes
            case .integer: self = .number
            case .double(let number) where !number.isNaN: self = .number
            case .reference: self = .reference
            case .double, .circle, .now: return nil
            }
        }

        func fits(_ view: FieldView) -> Bool {
            switch view {
            case .text: self == .text || self == .bytes
            case .integer, .double: self == .number
            case .reference: self == .reference
            case .list, .object, .nothing: false
            }
        }
    }

    private struct Group: Sendable {
        let kind: Kind
        /// In ascending order, without repetitions.
        let values: [FieldValue]

        init(_ kind: Kind, _ values: [FieldValue]) {
            var distinct: [FieldValue] = []
            for value in values.sorted(by: { $0.order($1) < 0 }) {
                if let last = distinct.last, last.order(value) == 0 { continue }
                distinct.append(value)
            }
            (self.kind, self.values) = (kind, distinct)
        }

        /// The index of the value to which the field is equal. The field must fit the group's kind.
        // This is not inlined for the reason given at `Clause.contains`: the optimizer of Swift 6.3 may crash.
        @inline(never)
        func index(of view: FieldView, _ foldsCase: Bool) -> Int? {
            guard foldsCase, kind == .text, case .text(let text) = view else {
                return index { view.order($0, false) ?? 0 }
            }
            // The case is folded once here, not in each comparison.
            return text.withUTF8 { utf8 in
                Letters.withFolded(utf8) { folded in
                    index { value in
                        guard case .text(let bytes) = value else { return 0 }
                        return bytes.withUnsafeBytes { FieldView.order(folded, $0) }
                    }
                }
            } ?? nil
        }

        /// - Parameter order: Compares the sought value with a given value: negative if the former is less.
        private func index(where order: (FieldValue) -> Int) -> Int? {
            var (low, high) = (0, values.count)
            while low < high {
                let middle = (low + high) / 2
                let order = order(values[middle])
                if order == 0 { return middle }
                if order < 0 { high = middle } else { low = middle + 1 }
            }
            return nil
        }
    }
}

extension FieldValue {
    /// The order of two values of one kind, as in ``FieldView/order(_:_:)``.
    fileprivate func order(_ other: FieldValue) -> Int {
        switch (self, other) {
        case (.text(let left), .text(let right)), (.reference(let left), .reference(let right)):
            left.withUnsafeBytes { left in right.withUnsafeBytes { FieldView.order(left, $0) } }
        case (.bytes(let left), .bytes(let right)): left.withUnsafeBytes { Base64.order($0, right) }
        case (.integer(let left), .integer(let right)): Numbers.order(left, right)
        case (.double(let left), .double(let right)): Numbers.order(left, right)
        case (.integer(let left), .double(let right)): Numbers.order(left, right)
        case (.double(let left), .integer(let right)): -Numbers.order(right, left)
        default: preconditionFailure("values of two kinds are in one group")
        }
    }
}
