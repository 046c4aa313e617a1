import Events
import JSON

// A shared database contains zones of several owners, and two zones may have the same name.

extension Subscription {
    /// The zone's owner, if the subscription is in a shared database and names one zone with an owner. Nil for other
    /// subscriptions, and for the owner `__defaultOwner__`.
    var sharedZoneOwner: JSONValue? {
        guard identity.database == .shared, case .one(.some) = zone, let zoneID = body?.given(.zoneID) else {
            return nil
        }
        guard let owner = zoneID.given(.ownerRecordName) ?? zoneID.given("ownerName") else { return nil }
        return owner.equals("__defaultOwner__") ? nil : owner
    }

    /// The record type that a zone or database subscription names, independent of the settings.
    var namedRecordType: String? { body?[.recordType]?.string }
}

extension Change {
    /// Whether the owner of the change's zone is the watched owner. A missing owner stands for any owner.
    func hasZoneOwner(_ watched: [UInt8]?) -> Bool {
        guard let watched, let owner = zone.owner else { return true }
        return owner.utf8 == watched
    }
}
