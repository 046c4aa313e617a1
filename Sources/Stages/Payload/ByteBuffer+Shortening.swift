import JSON

extension ByteBuffer {
    /// The most characters of a field's text in a payload (Apple, desiredKeys and alertLocalizationArgs).
    private static let charactersMax = 100
    /// The most bytes of a shortened text. The limit is necessary because one character may have any number of
    /// combining marks.
    private static let shortenedBytesMax = 4096

    /// Appends the first 100 characters of a string of the event. Appends fewer characters if these have more than
    /// ``shortenedBytesMax`` bytes.
    @inline(__always)
    mutating func append(shortened text: JSONValue) {
        // At most 100 bytes are at most 100 characters.
        if text.raw.count - 2 <= ByteBuffer.charactersMax { return append(text: text) }
        appendLong(text)
    }

    @inline(never)
    private mutating func appendLong(_ text: JSONValue) {
        if let plain = text.plain, ByteBuffer.startsWithSingleByteCharacters(plain) {
            return appendJSON(utf8: UnsafeRawBufferPointer(rebasing: plain[..<ByteBuffer.charactersMax]))
        }
        appendJSON(text.withUTF8(ByteBuffer.shortened) ?? "")
    }

    /// Whether the first 100 characters are the first 100 bytes, because these bytes and the next byte are ASCII.
    ///
    /// CR LF is one character of two ASCII bytes, but it cannot occur in a string without escapes.
    private static func startsWithSingleByteCharacters(_ text: UnsafeRawBufferPointer) -> Bool {
        text.prefix(charactersMax + 1).allSatisfy { $0 < 0x80 }
    }

    private static func shortened(_ text: UnsafeRawBufferPointer) -> String {
        // With four bytes more than the limit, the code point after the limit is complete. This code point shows
        // whether the character before it ends at the limit.
        let start = String(decoding: text.prefix(shortenedBytesMax + 4), as: UTF8.self)
        var bytes = 0
        let characters = start.prefix(charactersMax).prefix { character in
            bytes += character.utf8.count
            return bytes <= shortenedBytesMax
        }
        return String(characters)
    }
}
