import Events
import JSON

/// The properties that are set, under the names that they have in a subscription dictionary too.
struct NotificationProperties: Sendable {
    private var texts: [NotificationProperty: String] = [:]
    private var lists: [NotificationProperty: [CKRecord.FieldKey]] = [:]
    private var flags: Set<NotificationProperty> = []

    /// Those that an app can set, in the order in which they are written: the alert's own text before its title.
    private static let inOrder: [NotificationProperty] = {
        let first: [NotificationProperty] = [.alertBody, .alertLocalizationKey, .alertLocalizationArgs]
        return first + NotificationProperty.allCases.filter { !first.contains($0) && $0 != .additionalFields }
    }()

    init() {}

    init(json: JSONValue) {
        for property in Self.inOrder {
            guard let value = json[property.name] else { continue }
            switch property.kind {
            case .text, .collapseID: self[text: property] = value.string
            case .arguments, .fieldNames: self[list: property] = value.elements.compactMap(\.string)
            case .flag: self[flag: property] = value.bool == true
            }
        }
    }

    subscript(text property: NotificationProperty) -> String? {
        get { texts[property] }
        set { texts[property] = newValue }
    }

    subscript(list property: NotificationProperty) -> [CKRecord.FieldKey]? {
        get { lists[property] }
        set { lists[property] = newValue }
    }

    subscript(flag property: NotificationProperty) -> Bool {
        get { flags.contains(property) }
        set { if newValue { flags.insert(property) } else { flags.remove(property) } }
    }

    var json: String {
        var buffer = ByteBuffer()
        write(into: &buffer)
        return buffer.text
    }

    /// Writes what is set: texts, then lists, then flags.
    func write(into buffer: inout ByteBuffer) {
        var members: [String] = []
        for property in Self.inOrder {
            if let text = texts[property] { members.append("\"\(property.name)\":\(Self.quoted(text))") }
        }
        for property in Self.inOrder {
            guard let list = lists[property], !list.isEmpty else { continue }
            members.append("\"\(property.name)\":[\(list.map(Self.quoted).joined(separator: ","))]")
        }
        for property in Self.inOrder where flags.contains(property) { members.append("\"\(property.name)\":true") }
        buffer.append(raw: "{\(members.joined(separator: ","))}")
    }

    private static func quoted(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(text)
        return buffer.text
    }
}
