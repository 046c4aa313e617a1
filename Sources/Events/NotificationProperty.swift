import JSON

/// The properties of a notification info: the properties of `CKSubscription.NotificationInfo` with their native names,
/// and the name that CloudKit Web Services has for the desired keys.
///
/// A new property needs a case and a row here, the rule that puts it into a payload, and the client's name.
package enum NotificationProperty: UInt8, CaseIterable, Sendable {
    case title, titleLocalizationKey, titleLocalizationArgs
    case subtitle, subtitleLocalizationKey, subtitleLocalizationArgs
    case alertBody, alertLocalizationKey, alertLocalizationArgs
    case alertActionLocalizationKey, alertLaunchImage, soundName, category, collapseIDKey
    case shouldBadge, shouldSendContentAvailable, shouldSendMutableContent
    case desiredKeys, additionalFields

    package enum Kind: Sendable {
        case text, flag
        /// Names of fields whose values are arguments of an alert's text.
        case arguments
        /// Names of fields whose values are sent to the app.
        case fieldNames
        case collapseID
    }

    /// In the order of the cases. Not an `Array`: it would be retained at each of the millions of reads a second.
    private static let rows: [19 of (name: Member, kind: Kind)] = [
        ("title", .text), ("titleLocalizationKey", .text), ("titleLocalizationArgs", .arguments),
        ("subtitle", .text), ("subtitleLocalizationKey", .text), ("subtitleLocalizationArgs", .arguments),
        ("alertBody", .text), ("alertLocalizationKey", .text), ("alertLocalizationArgs", .arguments),
        ("alertActionLocalizationKey", .text), ("alertLaunchImage", .text), ("soundName", .text), ("category", .text),
        ("collapseIDKey", .collapseID),
        ("shouldBadge", .flag), ("shouldSendContentAvailable", .flag), ("shouldSendMutableContent", .flag),
        ("desiredKeys", .fieldNames), ("additionalFields", .fieldNames),
    ]

    /// The properties by the length of their names in bytes. At most two names have the same length.
    private static let byLength: [32 of [2 of NotificationProperty?]] = {
        var table = [32 of [2 of NotificationProperty?]](repeating: [nil, nil])
        for property in allCases {
            let length = property.name.utf8CodeUnitCount
            table[length][table[length][0] == nil ? 0 : 1] = property
        }
        return table
    }()

    package var name: Member { Self.rows[Int(rawValue)].name }
    package var kind: Kind { Self.rows[Int(rawValue)].kind }

    package static func all(of kind: Kind) -> [NotificationProperty] { allCases.filter { $0.kind == kind } }

    /// Whether the user sees or hears the property: it adds more than `content-available` to the `aps` dictionary.
    ///
    /// Apple calls a notification visual if any property but `shouldSendContentAvailable` is set (CKQueryNotification).
    /// But APNs rejects an alert with nothing else in `aps`, and a collapse ID, field names, or arguments without a key add
    /// nothing to `aps`.
    package var isNoticed: Bool {
        switch kind {
        case .text: true
        case .flag: self != .shouldSendContentAvailable
        case .arguments, .fieldNames, .collapseID: false
        }
    }

    /// The property with this name.
    package init?(_ name: JSONValue) {
        let length = name.textLength
        guard length < Self.byLength.count else { return nil }
        let pair = Self.byLength[length]
        if let first = pair[0], name.equals(first.name) {
            self = first
        } else if let second = pair[1], name.equals(second.name) {
            self = second
        } else {
            return nil
        }
    }
}
