import Events
import JSON

/// The key of a held notification. A newer notification with the same key replaces it.
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

    /// The user, with container and environment: the first three strings of the key.
    var user: UserKey {
        let end = (0..<3).reduce(0) { end, _ in bytes.endOfText(from: end) ?? bytes.count }
        return UserKey(bytes: Array(bytes[..<end]))
    }

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// A user of one container and environment.
struct UserKey: Hashable {
    fileprivate let bytes: [UInt8]

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The user and device that made a change.
struct OriginKey: Equatable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(_ origin: JSONValue?) {
        var bytes: [UInt8] = []
        if let origin, !origin.isNull {
            bytes.append(text: origin[.user])
            bytes.append(text: origin[.device])
        }
        self.bytes = bytes
    }
}

extension [UInt8] {
    /// Appends the length of the decoded string, and the string. A missing string has the length `UInt32.max`, so it
    /// differs from an empty string.
    fileprivate mutating func append(text: JSONValue?) {
        guard let text, text.isString else { return append(length: .max) }
        text.withUTF8 { utf8 in
            append(length: UInt32(utf8.count))
            append(contentsOf: utf8)
        }
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
