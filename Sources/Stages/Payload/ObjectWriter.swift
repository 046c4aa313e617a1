import JSON

/// Puts the commas between the members of one object.
struct ObjectWriter {
    private var isFirst = true

    /// Opens the object.
    @inline(__always)
    init(_ buffer: inout ByteBuffer) { buffer.append(byte: UInt8(ascii: "{")) }

    /// Writes a key, given with its quotes and colon; the value comes next.
    @inline(__always)
    mutating func key(_ quoted: StaticString, _ buffer: inout ByteBuffer) {
        comma(&buffer)
        buffer.append(quoted)
    }

    /// Writes a key that is text in the event.
    mutating func key(_ name: JSONValue, _ buffer: inout ByteBuffer) {
        comma(&buffer)
        buffer.append(text: name)
        buffer.append(byte: UInt8(ascii: ":"))
    }

    /// Writes a key that is decoded text.
    mutating func key(_ name: [UInt8], _ buffer: inout ByteBuffer) {
        comma(&buffer)
        name.withUnsafeBytes { buffer.appendJSON(utf8: $0) }
        buffer.append(byte: UInt8(ascii: ":"))
    }

    /// Writes a member whose value is a text in the event.
    @inline(__always)
    mutating func text(_ quoted: StaticString, _ value: JSONValue, _ buffer: inout ByteBuffer) {
        key(quoted, &buffer)
        buffer.append(text: value)
    }

    /// Writes a member if there is a text for it.
    mutating func optionalText(_ quoted: StaticString, _ value: JSONValue?, _ buffer: inout ByteBuffer) {
        if let value, value.isString { text(quoted, value, &buffer) }
    }

    @inline(__always)
    mutating func number(_ quoted: StaticString, _ value: Int, _ buffer: inout ByteBuffer) {
        key(quoted, &buffer)
        buffer.appendJSON(value)
    }

    @inline(__always)
    func close(_ buffer: inout ByteBuffer) { buffer.append(byte: UInt8(ascii: "}")) }

    @inline(__always)
    private mutating func comma(_ buffer: inout ByteBuffer) {
        if !isFirst { buffer.append(byte: UInt8(ascii: ",")) }
        isFirst = false
    }
}

extension ByteBuffer {
    /// Appends a string of the event: as it stands, or with fewer escapes if it has any.
    @inline(__always)
    mutating func append(text: JSONValue) {
        if text.plain != nil { return append(text.raw) }
        text.withUTF8 { appendJSON(utf8: $0) }
    }
}
