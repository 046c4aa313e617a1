import JSON

extension ByteBuffer {
    /// Appends a string of the event, with as few escapes as possible.
    @inline(__always)
    mutating func append(text: JSONValue) {
        if text.plain != nil { return append(text.raw) }
        text.withUTF8 { appendJSON(utf8: $0) }
    }

    /// Appends a member whose value is a string of the event.
    @inline(__always)
    mutating func append(_ name: StaticString, text: JSONValue) {
        append(member: name)
        append(text: text)
    }

    /// Appends a member if its value is a string.
    mutating func append(_ name: StaticString, text: JSONValue?) {
        if let text, text.isString { append(name, text: text) }
    }

    @inline(__always)
    mutating func append(_ name: StaticString, number: Int) {
        append(member: name)
        appendJSON(number)
    }

    /// Appends a key, given as a string of the event.
    mutating func append(key: JSONValue) {
        appendSeparator()
        append(text: key)
        append(byte: UInt8(ascii: ":"))
    }

    /// Appends a key, given as decoded text.
    mutating func append(key: [UInt8]) {
        appendSeparator()
        key.withUnsafeBytes { appendJSON(utf8: $0) }
        append(byte: UInt8(ascii: ":"))
    }
}
