import Events
import JSON
import PipelineKit

/// Reads the names of fields in a subscription's `notificationInfo`.
enum NotificationInfoReader {
    /// The fields that a match copies from the record: first the localization arguments, then the desired keys. Each
    /// field is listed once.
    static func copiedFields(_ info: JSONValue) throws(Rejection) -> [NotificationInfos.CopiedField] {
        var copied: [NotificationInfos.CopiedField] = []
        var seen: Set<[UInt8]> = []
        for property in NotificationProperty.all(of: .arguments) + NotificationProperty.all(of: .fieldNames) {
            for name in try names(info, property.name) where seen.insert(Array(name.utf8)).inserted {
                var json = ByteBuffer()
                json.appendJSON(name)
                json.append(byte: UInt8(ascii: ":"))
                unsafe copied.append(
                    .init(
                        name: Array(name.utf8), key: Array(json.bytes), isAlsoForDeletes: property.kind == .arguments))
            }
        }
        return copied
    }

    private static func names(_ info: JSONValue, _ key: StaticString) throws(Rejection) -> [String] {
        guard let list = info.given(key) else { return [] }
        let names = list.elements.compactMap(\.string)
        guard list.isArray, names.count == list.count else {
            let found = list.isArray ? "contains a value that is not a string" : "is \(list.kindName)"
            throw Rejection(
                code: "field.invalid", reason: "\(key) \(found): it must be an array of field names",
                path: "subscription.notificationInfo.\(key)")
        }
        return names
    }
}
