import JSON

/// The properties of a notification info: the properties of `CKSubscription.NotificationInfo` with their native names,
/// and `additionalFields`, which is the name of the desired keys in CloudKit Web Services.
///
/// A new property needs a case and a row here, the rule that puts it into a payload, and its name in the client
/// library.
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

    /// The rows are in the order of the cases. The table is not an `Array`, because each of the millions of reads a
    /// second would retain an array.
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

    /// Whether the property makes a notification visible: it adds more than `content-available` to the `aps`
    /// dictionary.
    ///
    /// Apple calls a notification visual if any property but `shouldSendContentAvailable` is set (CKQueryNotification).
    /// Belfry also excludes a collapse ID, field names and arguments, because these properties alone add nothing to
    /// `aps`. If a notification with only such properties were sent as an alert, APNs would reject it, because its
    /// `aps` would have nothing to show.
    package var makesVisible: Bool {
        switch kind {
        case .text: true
        case .flag: self != .shouldSendContentAvailable
        case .arguments, .fieldNames, .collapseID: false
        }
    }

    /// Nil if no property has this name.
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
