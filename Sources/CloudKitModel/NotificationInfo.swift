import Events
import JSON

/// Checks a subscription's `notificationInfo`: see `NotificationProperty`.
package enum NotificationInfo {
    private static let texts = NotificationProperty.all(of: .text).map(\.name)
    private static let flags = NotificationProperty.all(of: .flag).map(\.name)
    private static let arguments = NotificationProperty.all(of: .arguments).map(\.name)
    private static let desiredKeys = NotificationProperty.all(of: .fieldNames).map(\.name)
    private static let collapseIDs = NotificationProperty.all(of: .collapseID).map(\.name)
    private static let keys = NotificationProperty.allCases.map(\.name)

    /// - Throws: `member.kind`, `member.unknown`, `member.conflict` or `name.*`; `notification.desired_keys` for a
    ///   fourth or repeated key; `notification.arguments` for too many arguments.
    package static func check(_ json: JSONValue) throws(ModelError) {
        try json.expectObject("notificationInfo")
        try json.expectKeys(keys, of: "notificationInfo")
        for key in flags { _ = try json.flag(key) }
        try check(texts, of: json) { text, key throws(ModelError) in try text.expectString(key) }
        try check(arguments, of: json) { list, key throws(ModelError) in
            try checkNames(list, key)
            try checkArguments(list)
        }
        try check(desiredKeys, of: json) { list, key throws(ModelError) in
            try checkNames(list, key)
            try checkDesiredKeys(list)
        }
        guard !desiredKeys.allSatisfy({ json[$0] != nil }) else {
            throw ModelError(
                "member.conflict", at: "additionalFields",
                "additionalFields and desiredKeys are two names of the same member: keep one of them")
        }
        try check(collapseIDs, of: json) { id, _ throws(ModelError) in try NameRule.collapseID.check(id) }
    }

    /// Runs `check` on each member of `keys` that `json` has.
    private static func check(
        _ keys: [StaticString], of json: JSONValue, _ check: (JSONValue, StaticString) throws(ModelError) -> Void
    ) throws(ModelError) {
        for key in keys {
            guard let value = json[key] else { continue }
            try under(key) { () throws(ModelError) in try check(value, key) }
        }
    }

    private static func checkNames(_ list: JSONValue, _ key: StaticString) throws(ModelError) {
        guard list.isArray else { throw list.kindError("\(key) must be an array of field names") }
        var index = 0
        for name in list.elements {
            try under(element: index) { () throws(ModelError) in try NameRule.fieldName.check(name) }
            index += 1
        }
    }

    private static func checkArguments(_ list: JSONValue) throws(ModelError) {
        let max = CloudKitLimits.localizationArgumentsMax
        guard list.count > max else { return }
        throw ModelError(
            "notification.arguments", at: "[\(max)]",
            "a text has at most \(max) arguments, not \(list.count): take some out")
    }

    private static func checkDesiredKeys(_ list: JSONValue) throws(ModelError) {
        let max = CloudKitLimits.desiredKeysMax
        guard list.count <= max else {
            throw ModelError(
                "notification.desired_keys", at: "[\(max)]",
                "a notification carries at most \(max) desired keys, not \(list.count): take some out")
        }
        var seen: [String] = []
        for name in list.elements.compactMap(\.string) {
            guard !seen.contains(name) else {
                throw ModelError(
                    "notification.desired_keys", at: "[\(seen.count)]", "\"\(name)\" is listed twice: take one out")
            }
            seen.append(name)
        }
    }
}
