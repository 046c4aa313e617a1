/// A notification of a change in a zone that a subscription watches.
open class CKRecordZoneNotification: CKNotification {
    /// The zone that changed; nil if a pruned payload left out its name or owner.
    open var recordZoneID: CKRecordZone.ID? { content.zoneID }
    /// The database of the zone.
    open var databaseScope: CKDatabase.Scope { content.databaseScope }

    override var details: String {
        "a change in \(recordZoneID?.description ?? "a zone") of the \(databaseScope) database"
    }
}
