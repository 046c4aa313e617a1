import JSON

/// The properties of a notification info: those of `CKSubscription.NotificationInfo` with their native names, and the
/// name that CloudKit Web Services has for the desired keys.
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

    /// In the order of the cases.
    private static let rows: [(name: Member, kind: Kind)] = [
        ("title", .text), ("titleLocalizationKey", .text), ("titleLocalizationArgs", .arguments),
        ("subtitle", .text), ("subtitleLocalizationKey", .text), ("subtitleLocalizationArgs", .arguments),
        ("alertBody", .text), ("alertLocalizationKey", .text), ("alertLocalizationArgs", .arguments),
        ("alertActionLocalizationKey", .text), ("alertLaunchImage", .text), ("soundName", .text), ("category", .text),
        ("collapseIDKey", .collapseID),
        ("shouldBadge", .flag), ("shouldSendContentAvailable", .flag), ("shouldSendMutableContent", .flag),
        ("desiredKeys", .fieldNames), ("additionalFields", .fieldNames),
    ]

    /// The properties by the length of their names in bytes.
    private static let byLength: [[NotificationProperty]] = {
        let longest = rows.map(\.name.utf8CodeUnitCount).max() ?? 0
        return (0...longest).map { length in allCases.filter { $0.name.utf8CodeUnitCount == length } }
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
        guard length < Self.byLength.count,
            let property = Self.byLength[length].first(where: { name.equals($0.name) })
        else { return nil }
        self = property
    }
}
