/// A value in a canonical form: two values that compare as equal have the same form.
struct Candidate: Hashable {
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

    func mayBegin(with prefix: [UInt8]) -> Bool {
        guard case .text(let bytes) = value else { return false }
        guard isFolded, case .text(let folded) = FieldValue.text(prefix).caseFolded else {
            return bytes.starts(with: prefix)
        }
        return bytes.starts(with: folded)
    }
}

extension FieldValue {
    /// Negative, zero or positive if this value is less than, equal to or greater than `other`. Nil for values of
    /// different types and for values without an order.
    func order(_ other: FieldValue) -> Int? {
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
