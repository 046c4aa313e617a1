/// A notification of a change in a database that a subscription watches.
open class CKDatabaseNotification: CKNotification {
    /// The database that changed.
    open var databaseScope: CKDatabase.Scope { content.databaseScope }

    override var details: String { "a change in the \(databaseScope) database" }
}
