import JSON

/// A shared database holds zones of several owners, which may have the same name; every other database holds those of one.
/// The index tells zones apart by name, so that the owner is looked at afterwards.
extension Subscription {
    /// Whether a change in a zone of the right name is in the zone that the subscription names.
    ///
    /// Who does not say whose zone it is means any of that name.
    func isInSharedZone(_ change: Change) -> Bool {
        guard zone != nil, let owner = change.zone.owner, let watched = sharedZoneOwner else { return true }
        return owner.utf8 == watched
    }

    var sharedZoneOwner: [UInt8]? {
        withEvent { event in
            let zone = event["subscription"]?["zoneID"]
            guard let owner = zone?.given("ownerRecordName") ?? zone?.given("ownerName") else { return nil }
            return owner.equals("__defaultOwner__") ? nil : owner.utf8
        }
    }
}
