import JSON

/// The eighteen properties, under the names that they have in a subscription dictionary too.
struct NotificationProperties: Sendable {
    var alertBody: String?
    var alertLocalizationKey: String?
    var alertLocalizationArgs: [CKRecord.FieldKey]?
    var title: String?
    var titleLocalizationKey: String?
    var titleLocalizationArgs: [CKRecord.FieldKey]?
    var subtitle: String?
    var subtitleLocalizationKey: String?
    var subtitleLocalizationArgs: [CKRecord.FieldKey]?
    var alertActionLocalizationKey: String?
    var alertLaunchImage: String?
    var soundName: String?
    var desiredKeys: [CKRecord.FieldKey]?
    var shouldBadge = false
    var shouldSendContentAvailable = false
    var shouldSendMutableContent = false
    var category: String?
    var collapseIDKey: String?

    private typealias Property<Value> = (
        name: StaticString, path: WritableKeyPath<NotificationProperties, Value> & Sendable
    )

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

    init() {}

    init(json: JSONValue) {
        for (name, path) in Self.texts { self[keyPath: path] = json[name]?.string }
        for (name, path) in Self.lists { self[keyPath: path] = json[name]?.elements.compactMap(\.string) }
        for (name, path) in Self.flags { self[keyPath: path] = json[name]?.bool == true }
    }

    var json: String {
        var buffer = ByteBuffer()
        write(into: &buffer)
        return buffer.text
    }

    /// Writes what is set.
    func write(into buffer: inout ByteBuffer) {
        var members: [String] = []
        for (name, path) in Self.texts {
            if let text = self[keyPath: path] { members.append("\"\(name)\":\(Self.quoted(text))") }
        }
        for (name, path) in Self.lists {
            guard let list = self[keyPath: path], !list.isEmpty else { continue }
            members.append("\"\(name)\":[\(list.map(Self.quoted).joined(separator: ","))]")
        }
        for (name, path) in Self.flags where self[keyPath: path] { members.append("\"\(name)\":true") }
        buffer.append(raw: "{\(members.joined(separator: ","))}")
    }

    private static func quoted(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(text)
        return buffer.text
    }
}
