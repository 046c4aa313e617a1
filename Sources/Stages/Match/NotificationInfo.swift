import JSON
import PipelineKit

/// What match needs of a subscription's `notificationInfo`: its text, and which fields it names.
enum NotificationInfo {
    /// Where it stands in the event's text; nil where there is none.
    static func range(_ subscription: JSONValue, in event: JSONValue) throws(Rejection) -> Range<Int>? {
        try info(subscription).map { info in
            let start = info.offset - event.offset
            return start..<start + info.raw.count
        }
    }

    /// Localization arguments first, then desired keys; each name once.
    static func copiedFields(_ subscription: JSONValue) throws(Rejection) -> [Subscription.Copied] {
        guard let info = try info(subscription) else { return [] }
        var copied: [Subscription.Copied] = []
        var seen: Set<[UInt8]> = []
        let arguments: [StaticString] = [
            "titleLocalizationArgs", "subtitleLocalizationArgs", "alertLocalizationArgs",
        ]
        for key in arguments + ["desiredKeys", "additionalFields"] {
            let isForDeletes = arguments.contains { $0.description == key.description }
            for name in try names(info, key) where seen.insert(Array(name.utf8)).inserted {
                copied.append(Subscription.Copied(field: name, isForDeletes: isForDeletes))
            }
        }
        return copied
    }

    private static func info(_ subscription: JSONValue) throws(Rejection) -> JSONValue? {
        guard subscription.given("notificationInfo") != nil else { return nil }
        return try subscription.object("notificationInfo", in: "subscription.")
    }

    private static func names(_ info: JSONValue, _ key: StaticString) throws(Rejection) -> [String] {
        guard let list = info.given(key) else { return [] }
        let names = list.elements.compactMap(\.string)
        guard list.isArray, names.count == list.count else {
            throw Rejection(
                code: "field.invalid", reason: "a list of field names is needed",
                path: "subscription.notificationInfo.\(key)")
        }
        return names
    }
}
