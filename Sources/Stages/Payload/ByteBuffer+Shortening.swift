import JSON

extension ByteBuffer {
    /// The most characters of a record's text in a payload (Apple, desiredKeys and alertLocalizationArgs).
    private static let charactersMax = 100
    /// The most bytes of them: a character may have any number of marks, and no payload has room for more.
    private static let shortenedBytesMax = 4096

    /// Appends a string of the event, cut after its first 100 characters.
    @inline(__always)
    mutating func append(shortened text: JSONValue) {
        // A character takes a byte or more.
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

    /// Whether a cut after the first 100 bytes falls between characters: all is ASCII up to the byte behind it. CR LF,
    /// one character in two bytes, cannot stand in a string without escapes.
    private static func startsWithSingleByteCharacters(_ text: UnsafeRawBufferPointer) -> Bool {
        text.prefix(charactersMax + 1).allSatisfy { $0 < 0x80 }
    }

    private static func shortened(_ text: UnsafeRawBufferPointer) -> String {
        // One character more than there is room for shows where the last one ends.
        let start = String(decoding: text.prefix(shortenedBytesMax + 4), as: UTF8.self)
        var bytes = 0
        let characters = start.prefix(charactersMax).prefix { character in
            bytes += character.utf8.count
            return bytes <= shortenedBytesMax
        }
        return String(characters)
    }
}
