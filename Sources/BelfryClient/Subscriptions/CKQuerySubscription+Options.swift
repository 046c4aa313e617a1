import JSON

extension CKQuerySubscription {
    /// The changes that fire a query subscription, and whether it fires once.
    public struct Options: OptionSet, Sendable {
        /// The same bits as CloudKit's.
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Fires when a matching record is created.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// Fires when a record is updated and then matches.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// Fires when a record that matched is deleted.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// Fires only once: the first matching change deletes the subscription.
        public static let firesOnce = Options(rawValue: 1 << 3)
    }
}

extension CKQuerySubscription.Options {
    private static let firesOnWords: [(word: StaticString, option: CKQuerySubscription.Options)] = [
        ("create", .firesOnRecordCreation), ("update", .firesOnRecordUpdate), ("delete", .firesOnRecordDeletion),
    ]

    /// Reads the `firesOn` and `firesOnce` of a subscription dictionary.
    init(json: JSONValue) {
        self = json["firesOnce"]?.bool == true ? .firesOnce : []
        guard let firesOn = json["firesOn"] else { return }
        for word in firesOn.elements {
            for (text, option) in Self.firesOnWords where word.equals(text) { insert(option) }
        }
    }

    func writeMembers(into buffer: inout ByteBuffer) {
        let words = Self.firesOnWords.filter { contains($0.option) }.map { "\"\($0.word)\"" }
        buffer.append(",\"firesOn\":[")
        buffer.append(raw: words.joined(separator: ","))
        buffer.append("]")
        if contains(.firesOnce) { buffer.append(",\"firesOnce\":true") }
    }
}
