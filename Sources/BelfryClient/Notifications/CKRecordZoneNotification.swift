/// Tells of a change in a zone that a subscription watches.
public final class CKRecordZoneNotification: CKNotification {
    /// Nil where it was left out of a pruned payload.
    public nonisolated let recordZoneID: CKRecordZone.ID?
    public nonisolated let databaseScope: CKDatabase.Scope

    nonisolated override init(_ payload: NotificationPayload) {
        recordZoneID = payload.zoneID
        databaseScope = payload.databaseScope
        super.init(payload)
    }

    nonisolated override var details: String {
        "a change in \(recordZoneID?.description ?? "a zone") of the \(databaseScope) database"
    }
}
