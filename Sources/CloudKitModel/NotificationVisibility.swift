import JSON

/// Which notifications a user sees or hears.
package enum NotificationVisibility {
    /// Whether nothing is to be seen or heard: no notification info, or none of its properties set but
    /// `shouldSendContentAvailable` (Apple, CKSubscription.NotificationInfo: any other property makes it visual).
    package static func isSilent(_ info: JSONValue?) -> Bool {
        guard let info else { return true }
        for (key, value) in info.members where !value.isUnset && !key.equals("shouldSendContentAvailable") {
            return false
        }
        return true
    }
}

extension JSONValue {
    /// What a property that was never assigned looks like in JSON: null, false or empty.
    package var isUnset: Bool {
        switch kind {
        case .null, .false: true
        case .string: raw.count == 2
        case .array, .object: count == 0
        case .true, .number: false
        }
    }
}
