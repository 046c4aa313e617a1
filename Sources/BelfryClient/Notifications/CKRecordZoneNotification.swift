/// Tells of a change in a zone that a subscription watches.
public final class CKRecordZoneNotification: CKNotification {
    /// Nil where it was left out of a pruned payload.
    public let recordZoneID: CKRecordZone.ID?
    public let databaseScope: CKDatabase.Scope

    override init(_ payload: NotificationPayload) {
        recordZoneID = payload.zoneID
        databaseScope = payload.databaseScope
        super.init(payload)
    }

    override var details: String {
        "a change in \(recordZoneID?.description ?? "a zone") of the \(databaseScope) database"
    }
}
