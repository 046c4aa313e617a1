/// A view of one value in a parsed text; nothing is decoded or copied until asked for.
///
/// Valid while the text is and until its parser reads the next text, which the compiler does not hold: arrays, `for` loops
/// and `map` take no value that is not `Escapable`. A stage gets a ``JSONView``. Copying a view costs nothing.
@usableFromInline @safe package struct JSONValue {
    /// What a value is by its first byte.
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
    /// Read from the parser's note, not from the text.
    @inlinable
    @inline(__always)
    package var kind: Kind { node.kind }

    /// The value's exact text, quotes included.
    @inlinable
    package var raw: UnsafeRawBufferPointer {
        let node = node
        return unsafe UnsafeRawBufferPointer(start: bytes + Int(node.start), count: node.length)
    }

    /// Byte offset of the value in its text.
    @inlinable package var offset: Int { Int(node.start) }

    /// Number of members or elements; 0 for anything else.
    @inlinable package var count: Int { node.count }
}

// MARK: - Scalars

extension JSONValue {
    /// Whether it is the word `null`.
    @inlinable package var isNull: Bool { node.isKind(.null) }
    /// Whether it is a text in quotes.
    @inlinable package var isString: Bool { node.isKind(.string) }
    /// Whether it is a number, of any size and precision.
    @inlinable package var isNumber: Bool { node.isKind(.number) }
    /// Whether it has ``members``.
    @inlinable package var isObject: Bool { node.isKind(.object) }
    /// Whether it has ``elements``.
    @inlinable package var isArray: Bool { node.isKind(.array) }

    /// Nil where it is neither `true` nor `false`.
    @inlinable
    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The whole number written without fraction or exponent, when it fits 64 bits exactly.
    package var int64: Int64? { unsafe isNumber && node.isWhole ? JSONNumber.int64(raw) : nil }

    /// The nearest double; nil when this is no number, or one beyond the range of a double.
    ///
    /// What is too small for a double is 0 with its sign.
    package var double: Double? { unsafe isNumber ? JSONNumber.double(raw) : nil }
}

// MARK: - Strings

extension JSONValue {
    /// The decoded text; nil when this is no string.
    package var string: String? { unsafe withUTF8 { unsafe String(decoding: $0, as: UTF8.self) } }

    /// Calls `body` with the decoded UTF-8; nil when this is no string. Costs nothing where there are no escapes.
    @inlinable
    package func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        if let plain = unsafe plain { return unsafe body(plain) }
        guard isString else { return nil }
        let inner = unsafe UnsafeRawBufferPointer(rebasing: raw[1..<(raw.count - 1)])
        return unsafe withUnsafeTemporaryAllocation(byteCount: inner.count, alignment: 1) { target in
            unsafe body(UnsafeRawBufferPointer(rebasing: target[..<JSONText.unescape(inner, into: target)]))
        }
    }

    /// The string's bytes as they stand, when it is a string without escapes.
    @inlinable
    @inline(__always)
    package var plain: UnsafeRawBufferPointer? {
        let node = node
        guard node.isPlainString else { return nil }
        return unsafe UnsafeRawBufferPointer(start: bytes + Int(node.start) + 1, count: node.length - 2)
    }

    /// Bytes of the decoded text; 0 when this is no string.
    @inlinable
    @inline(__always)
    package var textLength: Int { unsafe plain?.count ?? decodedLength }

    @inline(never)
    @usableFromInline
    package var decodedLength: Int { unsafe withUTF8 { $0.count } ?? 0 }

    /// Whether this is a string with just that text.
    @inlinable
    @inline(__always)
    package func equals(_ text: StaticString) -> Bool {
        unsafe equals(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    // A literal is to be compared where it stands.
    /// Whether it is a string of those characters, once its escapes are resolved.
    @_disfavoredOverload
    package func equals(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { unsafe equals(UnsafeRawBufferPointer($0)) }
    }

    @inlinable
    @inline(__always)
    func equals(_ utf8: UnsafeRawBufferPointer) -> Bool {
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
