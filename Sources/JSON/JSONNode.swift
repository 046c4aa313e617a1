/// The position and kind of one value or key in a text.
@usableFromInline
struct JSONNode {
    @usableFromInline var start: UInt32
    @usableFromInline var end: UInt32
    /// The index of the first node after this value and all its members or elements.
    @usableFromInline var next: UInt32
    /// Bits 0 to 3: kind; bit 4: has escapes; bit 5: number without fraction or exponent; above: the number
    /// of members or elements.
    @usableFromInline var info: UInt32

    @inline(__always)
    init(_ kind: JSONValue.Kind, from start: Int, to end: Int, next: Int, flags: UInt32 = 0) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
        self.next = UInt32(truncatingIfNeeded: next)
        info = UInt32(kind.rawValue) | flags
    }

    @usableFromInline static var escapedBit: UInt32 { 16 }
    static var wholeBit: UInt32 { 32 }
    @usableFromInline static var countShift: UInt32 { 6 }

    @inlinable
    @inline(__always)
    var kind: JSONValue.Kind {
        unsafe JSONValue.Kind(rawValue: UInt8(truncatingIfNeeded: info & 15)).unsafelyUnwrapped
    }
    /// Whether the value is of the given kind. This is faster than comparing ``kind``.
    @inlinable
    @inline(__always)
    func isKind(_ kind: JSONValue.Kind) -> Bool { info & 15 == UInt32(kind.rawValue) }

    @inlinable
    @inline(__always)
    var isPlainString: Bool { info & (15 | 16) == UInt32(JSONValue.Kind.string.rawValue) }
    var isWhole: Bool { info & JSONNode.wholeBit != 0 }
    @inlinable var length: Int { Int(end &- start) }
    @inlinable var count: Int { Int(info >> 6) }
}
