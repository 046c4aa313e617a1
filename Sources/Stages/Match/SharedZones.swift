import Events
import JSON

// A shared database holds zones of several owners, which may have the same name; every other database holds those of
// one.

extension Subscription {
    /// Whose zone a subscription in a shared database names, if it says so.
    var sharedZoneOwner: JSONValue? {
        guard identity.database == .shared, case .one(.some) = zone, let zoneID = body?.given(.zoneID) else {
            return nil
        }
        guard let owner = zoneID.given(.ownerRecordName) ?? zoneID.given("ownerName") else { return nil }
        return owner.equals("__defaultOwner__") ? nil : owner
    }

    /// The type that a zone or database subscription names, whatever the settings make of it.
    var namedRecordType: String? { body?[.recordType]?.string }
}

extension Change {
    /// Whether a change in a zone of the right name is in the zone that a subscription names.
    ///
    /// Who does not say whose zone it is means any of that name.
    func isInSharedZone(of watched: [UInt8]?) -> Bool {
        guard let watched, let owner = zone.owner else { return true }
        return owner.utf8 == watched
    }
}
