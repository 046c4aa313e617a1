/// A push that APNs has accepted.
package struct Push: Sendable, Equatable {
    package var id: String
    package var address: DeviceApp
    package var collapseID: String?
    /// When the push expires, in milliseconds since 1970.
    package var expiresAt = Int64.max
    /// Whether the push may be stored if the device is offline; false for `apns-expiration: 0`.
    package var mayBeStored = true
    package var notice = Notice()
}

/// The address of a push: an app on a device.
package struct DeviceApp: Hashable, Sendable, Comparable {
    package var token: String
    package var bundle: String

    package static func < (left: DeviceApp, right: DeviceApp) -> Bool {
        (left.token, left.bundle) < (right.token, right.bundle)
    }
}
