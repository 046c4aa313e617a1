/// A push that APNs has accepted, on its way to a device.
package struct Push: Sendable, Equatable {
    package var id: String
    package var address: DeviceApp
    package var collapseID: String?
    /// Milliseconds since 1970 after which nobody wants it any more.
    package var expiresAt = Int64.max
    /// Whether it waits for a device that is offline: not with `apns-expiration: 0`.
    package var isStored = true
    package var notice = Notice()
}

/// Where a push goes: an app on a device.
package struct DeviceApp: Hashable, Sendable, Comparable {
    package var token: String
    package var bundle: String

    package static func < (left: DeviceApp, right: DeviceApp) -> Bool {
        (left.token, left.bundle) < (right.token, right.bundle)
    }
}
