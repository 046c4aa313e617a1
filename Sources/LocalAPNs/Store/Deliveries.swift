/// What APNs does with an accepted push: shows it, stores it for a device that is offline, or drops it.
///
/// While a device is offline, APNs stores only one push for each of its apps, usually the newest (Viewing the status of
/// push notifications using Metrics and APNs).
package struct Deliveries: Sendable {
    package enum Fate: Sendable, Equatable {
        /// - Parameter replaced: The ID of the earlier push whose notification was replaced; nil if there was none.
        case shown(replaced: String?)
        /// - Parameter overwritten: The ID of the earlier push that was stored until then; nil if there was none.
        case stored(overwritten: String?)
        /// The device is offline, and the push must not be stored.
        case dropped
        case expired
    }

    private var stored: [DeviceApp: Push] = [:]
    private var screen = RecentValues<Place, String>(countMax: 100_000)

    /// The place of a notification on a device. Notifications with the same collapse ID have the same place.
    private struct Place: Hashable {
        let address: DeviceApp
        let collapseID: String
    }

    /// The longest time that APNs stores a push (Viewing the status of push notifications).
    package static let storedMilliseconds: Int64 = 30 * 86_400_000

    package init() {}

    package var storedCount: Int { stored.count }

    /// Shows a push if the device is online. Otherwise stores it, unless it must not be stored or has expired.
    ///
    /// - Parameter now: Milliseconds since 1970.
    package mutating func deliver(_ push: Push, isOnline: Bool, at now: Int64) -> Fate {
        if isOnline { return show(push) }
        guard push.mayBeStored else { return .dropped }
        guard push.expiresAt > now else { return .expired }
        return .stored(overwritten: stored.updateValue(push, forKey: push.address)?.id)
    }

    /// Delivers the stored push to a device that is active again, unless the push has expired.
    ///
    /// - Returns: Nil if no push is stored for this app and device.
    package mutating func deliverStoredPush(to address: DeviceApp, at now: Int64) -> (push: Push, fate: Fate)? {
        guard let push = stored.removeValue(forKey: address) else { return nil }
        return (push, push.expiresAt > now ? show(push) : .expired)
    }

    /// Drops stored pushes that have expired.
    ///
    /// - Returns: The dropped pushes, sorted by device token and then by bundle ID.
    package mutating func expire(at now: Int64) -> [Push] {
        let late = stored.values.filter { $0.expiresAt <= now }.sorted { $0.address < $1.address }
        for push in late { stored[push.address] = nil }
        return late
    }

    private mutating func show(_ push: Push) -> Fate {
        guard let collapseID = push.collapseID, !push.notice.isBackground else { return .shown(replaced: nil) }
        let place = Place(address: push.address, collapseID: collapseID)
        return .shown(replaced: screen.insert(push.id, for: place))
    }
}
