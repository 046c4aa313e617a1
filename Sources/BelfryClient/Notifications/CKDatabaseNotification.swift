/// Tells of a change in a database that a subscription watches.
public final class CKDatabaseNotification: CKNotification {
    public nonisolated let databaseScope: CKDatabase.Scope

    nonisolated override init(_ payload: NotificationPayload) {
        databaseScope = payload.databaseScope
        super.init(payload)
    }

    nonisolated override var details: String { "a change in the \(databaseScope) database" }
}
