extension ByteBuffer {
    /// Appends `"name":`, after a comma unless the object begins here. The value follows.
    ///
    /// - Parameter name: Needs no escapes.
    // With room for all of it made once, the pieces of a literal are a few moves.
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

    /// Appends `"key":` as ``append(member:)`` does, with escapes where the key needs them.
    package mutating func append(key: String) {
        appendSeparator()
        appendJSON(key)
        append(":")
    }

    /// Appends the comma between two members or elements; nothing where an object or a list begins.
    @inlinable
    @inline(__always)
    package mutating func appendSeparator() {
        if !isAtStartOfContainer { append(byte: UInt8(ascii: ",")) }
    }

    /// A value never ends in an opening bracket: a text has its quotes.
    @inlinable
    @inline(__always)
    var isAtStartOfContainer: Bool {
        guard written > 0 else { return false }
        let last = unsafe base.load(fromByteOffset: written - 1, as: UInt8.self)
        return last == UInt8(ascii: "{") || last == UInt8(ascii: "[")
    }

    /// Writes into room that is there.
    @inlinable
    @inline(__always)
    mutating func put(_ byte: UInt8) {
        unsafe base.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
        written += 1
    }
}

// MARK: - Members

/// A value that is nil leaves its member out.
extension ByteBuffer {
    package mutating func append(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        append(member: name)
        appendJSON(text)
    }

    /// - Parameter word: Needs no escapes.
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

    package mutating func append(_ name: StaticString, _ number: Int64?) {
        guard let number else { return }
        append(member: name)
        appendJSON(number)
    }

    package mutating func append(_ name: StaticString, _ number: UInt64?) {
        guard let number else { return }
        append(member: name)
        appendJSON(number)
    }

    package mutating func append(_ name: StaticString, _ number: Double?) {
        guard let number else { return }
        append(member: name)
        appendJSON(number)
    }

    /// Appends the value as it stands.
    @inlinable
    @inline(__always)
    package mutating func append(_ name: StaticString, _ value: JSONValue?) {
        guard let value else { return }
        append(member: name)
        unsafe append(value.raw)
    }

    /// - Parameter json: The value, written already.
    package mutating func append(_ name: StaticString, raw json: String?) {
        guard let json else { return }
        append(member: name)
        append(raw: json)
    }

    package mutating func append(_ name: StaticString, _ texts: [String]) {
        append(name, texts) { $0.appendJSON($1) }
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
