import CloudKitModel
import Events
import JSON

extension RecordWriter {
    // MARK: Zones

    func saveZone(_ change: ChangeEvent) throws {
        let zoneID = try change.required(.zoneID)
        if let owner = change.event[.owner] { try rowCache.account(owner, of: change.event, change.db) }
        _ = try rowCache.zone(zoneID, of: change.event, madeBy: change.sequence, change.db)
    }

    /// The zone's records stay in the tables until ``doMaintenance(rowsMax:)`` removes them; no read finds them.
    func deleteZone(_ change: ChangeEvent) throws {
        let zoneID = try change.required(.zoneID)
        guard let zone = try rowCache.livingZone(zoneID, of: change.event, change.db) else { return }
        rowCache.forget(zone: zone.id)
        hasDeleted = true
        changedZones[zone.id] = nil
        try change.db.prepared("UPDATE zones SET deleted = ?, changed = ? WHERE id = ?").run([
            .sequence(change.sequence), .sequence(change.sequence), .int(zone.id),
        ])
        try change.db.prepared(
            "UPDATE deleteReferences SET isBroken = 1 WHERE database = ? AND target >= ? AND target < ? AND zone != ?"
        ).run([
            .int(zone.database), .blob(zone.targetPrefix), .blob(zone.targetPrefix.successor), .int(zone.id),
        ])
    }

    // MARK: Subscriptions and devices

    func saveSubscription(_ change: ChangeEvent) throws {
        let subscription = try change.required(.subscription)
        let account = try account(of: change)
        try change.db.prepared(
            "INSERT OR REPLACE INTO subscriptions(account, scope, id, sequence, body) VALUES (?, ?, ?, ?, ?)"
        ).run([
            .int(account), .json(try change.requiredText(.database)),
            .json(try change.requiredText(.subscriptionID, in: subscription)), .sequence(change.sequence),
            .utf8(subscription.raw),
        ])
    }

    func deleteSubscription(_ change: ChangeEvent) throws {
        try change.db.prepared("DELETE FROM subscriptions WHERE account = ? AND scope = ? AND id = ?").run([
            .int(try account(of: change)), .json(try change.requiredText(.database)),
            .json(try change.requiredText(.subscriptionID)),
        ])
    }

    func register(_ change: ChangeEvent) throws {
        try change.db.prepared(
            """
            INSERT OR REPLACE INTO devices(account, name, sequence, transport, token, topic) VALUES (?, ?, ?, ?, ?, ?)
            """
        ).run([
            .int(try account(of: change)), .json(try change.requiredText(.device)), .sequence(change.sequence),
            .json(try change.requiredText(.transport)), .json(try change.requiredText(.token)),
            .json(change.event[.topic]),
        ])
    }

    func unregister(_ change: ChangeEvent) throws {
        try change.db.prepared("DELETE FROM devices WHERE account = ? AND name = ?").run([
            .int(try account(of: change)), .json(try change.requiredText(.device)),
        ])
    }

    private func account(of change: ChangeEvent) throws -> Int64 {
        try rowCache.account(try change.requiredText(.user), of: change.event, change.db)
    }
}

extension [UInt8] {
    /// The first byte string that sorts after all byte strings with this prefix.
    ///
    /// - Precondition: At least one byte is not 0xFF.
    var successor: [UInt8] {
        var bytes = self
        while let last = bytes.popLast() {
            if last < 0xFF { return bytes + [last + 1] }
        }
        preconditionFailure("no byte of the prefix is less than 0xFF: \(self)")
    }
}
