import JSON

/// What makes two notifications replace each other.
///
/// A collapse ID: the same container, environment, user and collapse ID. A silent one: the same container,
/// environment, user, database and subscription. Texts are compared decoded.
struct HoldKey: Hashable {
    private let bytes: [UInt8]

    /// Nil for a match that replaces nothing: visible, without a collapse ID.
    init?(_ match: Match) {
        guard match.collapseID != nil || match.isSilent else { return nil }
        // Each text behind its length, so that no two lists of texts look alike.
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

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The user and device that made a change, for comparison.
struct OriginKey: Equatable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    init(_ origin: JSONValue?) {
        var bytes: [UInt8] = []
        if let origin, !origin.isNull {
            bytes.append(text: origin["user"])
            bytes.append(text: origin["device"])
        }
        self.bytes = bytes
    }
}

extension [UInt8] {
    /// Appends the decoded text behind its length; what is no text is told apart from an empty one.
    fileprivate mutating func append(text: JSONValue?) {
        guard let text, text.isString else { return append(length: .max) }
        text.withUTF8 { utf8 in
            append(length: UInt32(utf8.count))
            append(contentsOf: utf8)
        }
    }

    private mutating func append(length: UInt32) {
        Swift.withUnsafeBytes(of: length.littleEndian) { append(contentsOf: $0) }
    }
}
