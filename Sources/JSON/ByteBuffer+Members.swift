extension ByteBuffer {
    /// Appends `"name":`, after a comma unless the object begins here. Append the value next.
    ///
    /// - Parameter name: A name without characters that JSON escapes.
    // With one reservation for comma, name and colon, a literal is copied in a few instructions.
    @inlinable
    @inline(__always)
    package mutating func append(member name: StaticString) {
        let count = name.utf8CodeUnitCount
        reserve(count + 4)
        if !isAtStartOfContainer { put(UInt8(ascii: ",")) }
        put(UInt8(ascii: "\""))
        unsafe (base + written).copyMemory(from: name.utf8Start, byteCount: count)
        written += count
        put(UInt8(ascii: "\""))
        put(UInt8(ascii: ":"))
    }

    /// Appends `"key":` like ``append(member:)``, with escapes if the key needs them.
    package mutating func append(key: String) {
        appendSeparator()
        appendJSON(key)
        append(":")
    }

    /// Appends the comma between two members or elements. Appends nothing at the start of an object or list.
    @inlinable
    @inline(__always)
    package mutating func appendSeparator() {
        if !isAtStartOfContainer { append(byte: UInt8(ascii: ",")) }
    }

    /// Whether the last byte is `{` or `[`. No complete value ends in one of them, because a string ends in its quote.
    @inlinable
    @inline(__always)
    var isAtStartOfContainer: Bool {
        guard written > 0 else { return false }
        let last = unsafe base.load(fromByteOffset: written - 1, as: UInt8.self)
        return last == UInt8(ascii: "{") || last == UInt8(ascii: "[")
    }

    /// Appends a byte into reserved memory.
    @inlinable
    @inline(__always)
    mutating func put(_ byte: UInt8) {
        unsafe base.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
        written += 1
    }
}

// MARK: - Members

/// Each of these methods appends a key and its value. For a nil value they append nothing.
extension ByteBuffer {
    package mutating func append(_ name: StaticString, _ text: String?) { append(name, text) { $0.appendJSON($1) } }

    /// - Parameter word: A string without characters that JSON escapes.
    @inlinable
    @inline(__always)
    package mutating func append(_ name: StaticString, word: StaticString) {
        append(member: name)
        append("\"")
        append(word)
        append("\"")
    }

    /// - Parameter text: UTF-8.
    package mutating func append(_ name: StaticString, utf8 text: ArraySlice<UInt8>) {
        append(member: name)
        unsafe text.withUnsafeBytes { unsafe appendJSON(utf8: $0) }
    }

    package mutating func append(_ name: StaticString, _ flag: Bool) {
        append(member: name)
        appendJSON(flag)
    }

    package mutating func append(_ name: StaticString, _ number: Int?) { append(name, number.map { Int64($0) }) }

    package mutating func append(_ name: StaticString, _ number: Int64?) { append(name, number) { $0.appendJSON($1) } }

    package mutating func append(_ name: StaticString, _ number: UInt64?) { append(name, number) { $0.appendJSON($1) } }

    package mutating func append(_ name: StaticString, _ number: Double?) { append(name, number) { $0.appendJSON($1) } }

    /// Appends the value's text unchanged.
    @inlinable
    @inline(__always)
    package mutating func append(_ name: StaticString, _ value: JSONValue?) {
        guard let value else { return }
        append(member: name)
        unsafe append(value.raw)
    }

    /// - Parameter json: The value as JSON text.
    package mutating func append(_ name: StaticString, raw json: String?) { append(name, json) { $0.append(raw: $1) } }

    @inline(__always)
    private mutating func append<Value>(
        _ name: StaticString, _ value: Value?, _ write: (inout ByteBuffer, Value) -> Void
    ) {
        guard let value else { return }
        append(member: name)
        write(&self, value)
    }

    package mutating func append(_ name: StaticString, _ strings: [String]) {
        append(name, strings) { $0.appendJSON($1) }
    }

    /// - Parameter write: Appends one element.
    package mutating func append<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ write: (inout ByteBuffer, Element) -> Void
    ) {
        append(member: name)
        list(elements, write)
    }
}

// MARK: - Objects and lists

extension ByteBuffer {
    /// - Parameter write: Appends the members.
    package static func object(_ write: (inout ByteBuffer) throws -> Void) rethrows -> ByteBuffer {
        var buffer = ByteBuffer()
        try buffer.object(write)
        return buffer
    }

    /// - Parameter write: Appends the members.
    package mutating func object(_ write: (inout ByteBuffer) throws -> Void) rethrows {
        append("{")
        try write(&self)
        append("}")
    }

    /// - Parameter write: Appends one element.
    package mutating func list<Element>(
        _ elements: some Sequence<Element>, _ write: (inout ByteBuffer, Element) -> Void
    ) {
        append("[")
        for element in elements {
            appendSeparator()
            write(&self, element)
        }
        append("]")
    }
}
