/// Tells of a change in a database that a subscription watches.
public final class CKDatabaseNotification: CKNotification {
    public let databaseScope: CKDatabase.Scope

    override init(_ payload: NotificationPayload) {
        databaseScope = payload.databaseScope
        super.init(payload)
    }

    override var details: String { "a change in the \(databaseScope) database" }
}
