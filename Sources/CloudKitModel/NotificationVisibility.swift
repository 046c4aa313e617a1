import Events
import JSON

/// Which notifications a user sees or hears: those that go out as alerts, at once; all others go in the background.
package enum NotificationVisibility {
    /// Whether nothing is to be seen or heard: no notification info, or none that writes into `aps` what a user notices.
    package static func isSilent(_ info: JSONValue?) -> Bool {
        guard let info else { return true }
        for (key, value) in info.members where !value.isUnset && NotificationProperty(key)?.isNoticed == true {
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
