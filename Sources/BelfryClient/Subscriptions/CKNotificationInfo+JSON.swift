import JSON

/// The eighteen properties under the names that they have in a subscription dictionary.
extension CKNotificationInfo {
    private typealias Info = CKNotificationInfo
    private typealias Property<Value> = (name: StaticString, path: ReferenceWritableKeyPath<Info, Value> & Sendable)

    private static let texts: [Property<String?>] = [
        ("alertBody", \.alertBody), ("alertLocalizationKey", \.alertLocalizationKey), ("title", \.title),
        ("titleLocalizationKey", \.titleLocalizationKey), ("subtitle", \.subtitle),
        ("subtitleLocalizationKey", \.subtitleLocalizationKey),
        ("alertActionLocalizationKey", \.alertActionLocalizationKey), ("alertLaunchImage", \.alertLaunchImage),
        ("soundName", \.soundName), ("category", \.category), ("collapseIDKey", \.collapseIDKey),
    ]
    private static let lists: [Property<[CKRecord.FieldKey]?>] = [
        ("alertLocalizationArgs", \.alertLocalizationArgs), ("titleLocalizationArgs", \.titleLocalizationArgs),
        ("subtitleLocalizationArgs", \.subtitleLocalizationArgs), ("desiredKeys", \.desiredKeys),
    ]
    private static let flags: [Property<Bool>] = [
        ("shouldBadge", \.shouldBadge), ("shouldSendContentAvailable", \.shouldSendContentAvailable),
        ("shouldSendMutableContent", \.shouldSendMutableContent),
    ]

    convenience init(copying other: CKNotificationInfo) {
        self.init()
        for (_, path) in Info.texts { self[keyPath: path] = other[keyPath: path] }
        for (_, path) in Info.lists { self[keyPath: path] = other[keyPath: path] }
        for (_, path) in Info.flags { self[keyPath: path] = other[keyPath: path] }
    }

    convenience init(json: JSONValue) {
        self.init()
        for (name, path) in Info.texts { self[keyPath: path] = json[name]?.string }
        for (name, path) in Info.lists { self[keyPath: path] = json[name]?.elements.compactMap(\.string) }
        for (name, path) in Info.flags { self[keyPath: path] = json[name]?.bool == true }
    }

    var json: String {
        var buffer = ByteBuffer()
        write(into: &buffer)
        return buffer.text
    }

    /// Writes what is set.
    func write(into buffer: inout ByteBuffer) {
        var members: [String] = []
        for (name, path) in Info.texts {
            if let text = self[keyPath: path] { members.append("\"\(name)\":\(Info.quoted(text))") }
        }
        for (name, path) in Info.lists {
            guard let list = self[keyPath: path], !list.isEmpty else { continue }
            members.append("\"\(name)\":[\(list.map(Info.quoted).joined(separator: ","))]")
        }
        for (name, path) in Info.flags where self[keyPath: path] { members.append("\"\(name)\":true") }
        buffer.append(raw: "{\(members.joined(separator: ","))}")
    }

    private static func quoted(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(text)
        return buffer.text
    }
}
