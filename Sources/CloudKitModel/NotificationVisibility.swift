import Events
import JSON

/// Decides whether a notification is visible or silent. The push of a silent notification is a background push. The
/// push of a visible notification is an alert, unless its payload has no room for any visible part.
package enum NotificationVisibility {
    /// Whether the notification is silent: no property of its notification info makes it visible.
    package static func isSilent(_ info: JSONValue?) -> Bool {
        guard let info else { return true }
        for (key, value) in info.members where !value.isUnset && NotificationProperty(key)?.makesVisible == true {
            return false
        }
        return true
    }
}

extension JSONValue {
    /// Whether the value means that its property was never set: null, false or empty.
    package var isUnset: Bool {
        switch kind {
        case .null, .false: true
        case .string: raw.count == 2
        case .array, .object: count == 0
        case .true, .number: false
        }
    }
}
