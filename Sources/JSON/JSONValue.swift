/// A view of one value in a parsed text. It decodes and copies only on demand.
///
/// The view is valid as long as the text and the parser exist, and until the parser begins another text. The compiler
/// does not check that, because arrays, `for` loops and `map` need `Escapable` values. Stages get the checked
/// ``JSONView``.
@usableFromInline @safe package struct JSONValue {
    /// The kind of a value. The first byte of the value's text tells it.
    @usableFromInline package enum Kind: UInt8, Sendable { case null, `false`, `true`, number, string, array, object }

    @usableFromInline let nodes: UnsafePointer<JSONNode>
    @usableFromInline let bytes: UnsafePointer<UInt8>
    @usableFromInline let index: Int

    @inlinable
    init(nodes: UnsafePointer<JSONNode>, bytes: UnsafePointer<UInt8>, index: Int) {
        unsafe self.nodes = nodes
        unsafe self.bytes = bytes
        self.index = index
    }

    @inlinable var node: JSONNode { unsafe nodes[index] }
    @inlinable
    @inline(__always)
    package var kind: Kind { node.kind }

    /// The value's exact text. The text of a string includes the quotes.
    @inlinable
    package var raw: UnsafeRawBufferPointer {
        let node = node
        return unsafe UnsafeRawBufferPointer(start: bytes + Int(node.start), count: node.length)
    }

    /// The byte offset of the value in the parsed text.
    @inlinable package var offset: Int { Int(node.start) }

    /// The number of members or elements; 0 for a scalar.
    @inlinable package var count: Int { node.count }
}

// MARK: - Scalars

extension JSONValue {
    @inlinable package var isNull: Bool { node.isKind(.null) }
    @inlinable package var isString: Bool { node.isKind(.string) }
    @inlinable package var isNumber: Bool { node.isKind(.number) }
    @inlinable package var isObject: Bool { node.isKind(.object) }
    @inlinable package var isArray: Bool { node.isKind(.array) }

    /// Nil if this is neither `true` nor `false`.
    @inlinable package var bool: Bool? { node.isKind(.true) ? true : node.isKind(.false) ? false : nil }

    /// A number without fraction or exponent that fits 64 signed bits; nil for any other value.
    package var int64: Int64? { unsafe isNumber && node.isWhole ? JSONNumber.int64(raw) : nil }

    /// The nearest double; nil if this is not a number, or too large for a double.
    package var double: Double? { unsafe isNumber ? JSONNumber.double(raw) : nil }
}

// MARK: - Strings

extension JSONValue {
    /// The decoded text; nil if this is not a string.
    package var string: String? { unsafe withUTF8 { unsafe String(decoding: $0, as: UTF8.self) } }

    /// Calls `body` with the decoded UTF-8, or returns nil if this is not a string. Only a string with escapes is
    /// copied.
    @inlinable
    package func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        if let plain = unsafe plain { return unsafe body(plain) }
        guard isString else { return nil }
        let inner = unsafe UnsafeRawBufferPointer(rebasing: raw[1..<(raw.count - 1)])
        return unsafe withUnsafeTemporaryAllocation(byteCount: inner.count, alignment: 1) { target in
            unsafe body(UnsafeRawBufferPointer(rebasing: target[..<JSONText.unescape(inner, into: target)]))
        }
    }

    /// The bytes between the quotes if this is a string without escapes; nil for any other value.
    @inlinable
    @inline(__always)
    package var plain: UnsafeRawBufferPointer? {
        let node = node
        guard node.isPlainString else { return nil }
        return unsafe UnsafeRawBufferPointer(start: bytes + Int(node.start) + 1, count: node.length - 2)
    }

    /// The length of the decoded text in bytes; 0 if this is not a string.
    @inlinable
    @inline(__always)
    package var textLength: Int { unsafe plain?.count ?? decodedLength }

    @inline(never)
    @usableFromInline
    package var decodedLength: Int { unsafe withUTF8 { $0.count } ?? 0 }

    /// Whether this is a string with this text, after decoding.
    @inlinable
    @inline(__always)
    package func equals(_ text: StaticString) -> Bool {
        unsafe equals(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Lets a `switch` over a value compare it with words.
    @inlinable
    @inline(__always)
    package static func ~= (word: StaticString, value: JSONValue) -> Bool { value.equals(word) }

    /// Like ``equals(_:)-(StaticString)``, for a text that is not a literal.
    @_disfavoredOverload
    package func equals(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { unsafe equals(UnsafeRawBufferPointer($0)) }
    }

    @inlinable
    @inline(__always)
    package func equals(_ utf8: UnsafeRawBufferPointer) -> Bool {
        let node = node
        guard node.isPlainString else { return unsafe equalsDecoded(utf8) }
        guard node.length - 2 == utf8.count else { return false }
        guard let other = utf8.baseAddress else { return true }
        return unsafe UnsafeRawBufferPointer.areSame(bytes + Int(node.start) + 1, other, utf8.count)
    }

    @inline(never)
    @usableFromInline
    func equalsDecoded(_ utf8: UnsafeRawBufferPointer) -> Bool {
        unsafe withUTF8 { unsafe $0.isSame(as: utf8) } ?? false
    }
}
