import Events
import JSON

/// The key of a held notification. A newer notification with the same key replaces the held one.
///
/// The key consists of the container, the environment, the user and the collapse ID. A silent notification without a
/// collapse ID has the database and the subscription ID instead. The key contains the decoded strings, so JSON escapes
/// make no difference.
struct HoldKey: Hashable {
    let bytes: [UInt8]

    /// - Parameter match: A replaceable match.
    init(_ match: Match) {
        // Each string follows its length, so that different lists of strings never have the same bytes.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(160)
        bytes.append(text: match.container)
        bytes.append(text: match.environment)
        bytes.append(text: match.user)
        if let collapseID = match.collapseID {
            bytes.append(text: collapseID)
        } else {
            bytes.append(text: match.database)
            bytes.append(text: match.subscriptionID)
        }
        self.bytes = bytes
    }

    /// - Parameter strings: The strings of the key, in the key's order.
    init(_ strings: [TextString]) {
        var bytes: [UInt8] = []
        for string in strings { string.withUTF8 { bytes.append(utf8: $0) } }
        self.bytes = bytes
    }

    /// Nil if the bytes are not a key.
    init?(bytes: [UInt8]) {
        var end = 0
        var count = 0
        while end < bytes.count {
            guard let next = bytes.endOfText(from: end) else { return nil }
            (end, count) = (next, count + 1)
        }
        guard (4...5).contains(count) else { return nil }
        self.bytes = bytes
    }

    var strings: Strings { Strings(bytes: bytes) }

    /// A hash of the whole key.
    var shortHash: UInt32 { HoldKey.hash(bytes[...]) }

    /// A hash of the user, with container and environment: the first three strings of the key.
    var userHash: UInt32 {
        HoldKey.hash(bytes[..<(0..<3).reduce(0) { end, _ in bytes.endOfText(from: end) ?? bytes.count }])
    }

    private static func hash(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    /// The strings of a key, one after the other.
    struct Strings {
        fileprivate let bytes: [UInt8]
        private var end = 0

        fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { end == bytes.count }

        /// Moves past the next string. Returns whether there is a next string and it equals `string`.
        mutating func next(is string: TextString) -> Bool {
            guard let next = bytes.endOfText(from: end) else { return false }
            defer { end = next }
            return bytes.withUnsafeBytes { own in
                string.withUTF8 { $0.isSame(as: UnsafeRawBufferPointer(rebasing: own[(end + 4)..<next])) }
            }
        }
    }
}

/// The user and device that made a change.
struct OriginKey: Equatable {
    private let bytes: [UInt8]

    init(_ origin: JSONValue?) {
        var bytes: [UInt8] = []
        if let origin, !origin.isNull {
            bytes.append(text: origin[.user])
            bytes.append(text: origin[.device])
        }
        self.bytes = bytes
    }
}

/// A string in a JSON text that was checked before.
struct TextString {
    /// The string with its quotes.
    let raw: UnsafeRawBufferPointer
    private let hasEscapes: Bool

    /// - Parameter start: Where the string's first quote is.
    init(_ text: UnsafeRawBufferPointer, at start: Int) {
        var end = start + 1
        var hasEscapes = false
        while text[end] != UInt8(ascii: "\"") {
            let isEscape = text[end] == UInt8(ascii: "\\")
            hasEscapes = hasEscapes || isEscape
            end += isEscape ? 2 : 1
        }
        raw = UnsafeRawBufferPointer(rebasing: text[start...end])
        self.hasEscapes = hasEscapes
    }

    /// Calls `body` with the decoded string.
    func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard hasEscapes else { return body(UnsafeRawBufferPointer(rebasing: raw[1..<(raw.count - 1)])) }
        var parser = JSONParser()
        do throws(JSONError) {
            if let result = try parser.parse(raw).withUTF8(body) { return result }
        } catch {}
        preconditionFailure("a string of a held match cannot be parsed")
    }

    static func == (left: TextString, right: TextString) -> Bool {
        left.withUTF8 { left in right.withUTF8 { left.isSame(as: $0) } }
    }
}

extension [UInt8] {
    /// Appends the length of the decoded string, and the string. A missing string has the length `UInt32.max`, so it
    /// differs from an empty string.
    fileprivate mutating func append(text: JSONValue?) {
        guard let text, text.isString else { return append(length: .max) }
        text.withUTF8 { append(utf8: $0) }
    }

    fileprivate mutating func append(utf8: UnsafeRawBufferPointer) {
        append(length: UInt32(utf8.count))
        append(contentsOf: utf8)
    }

    /// The end of the text whose length starts at `start`; nil if the array is too short.
    fileprivate func endOfText(from start: Int) -> Int? {
        guard start + 4 <= count else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(self[start + $1]) << (8 * $1) }
        return length <= count - start - 4 ? start + 4 + length : nil
    }

    private mutating func append(length: UInt32) {
        Swift.withUnsafeBytes(of: length.littleEndian) { append(contentsOf: $0) }
    }
}
