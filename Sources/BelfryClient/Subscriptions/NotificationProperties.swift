import Events
import JSON

/// The properties that an app has set in a notification info.
struct NotificationProperties: Sendable {
    private var texts: [NotificationProperty: String] = [:]
    private var lists: [NotificationProperty: [CKRecord.FieldKey]] = [:]
    private var flags: Set<NotificationProperty> = []

    /// The properties that an app can set. Properties of the same kind (string, list or flag) are written in this order.
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

    /// Writes the strings, then the lists, then the flags.
    func write(into buffer: inout ByteBuffer) {
        buffer.object {
            for property in Self.inOrder { $0.append(property.name, texts[property]) }
            for property in Self.inOrder {
                if let list = lists[property], !list.isEmpty { $0.append(property.name, list) }
            }
            for property in Self.inOrder where flags.contains(property) { $0.append(property.name, true) }
        }
    }
}
