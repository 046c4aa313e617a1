import Foundation

/// Tells of a record that a query subscription watches.
open class CKQueryNotification: CKNotification {
    /// What happened to the record. The raw values are those of the payload.
    public enum Reason: Int, Sendable, BitwiseCopyable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    /// The database of the record.
    open var databaseScope: CKDatabase.Scope { content.databaseScope }
    /// Created, where the payload says nothing else.
    open var queryNotificationReason: Reason { content.reason }
    /// Nil where it was left out of a pruned payload.
    open var recordID: CKRecord.ID? { content.recordID }
    /// Values of the desired keys, for created and updated records: `String`, `NSNumber`, ``CLLocation`` or
    /// ``CKRecord/Reference``. A date is a number, ``date(forKey:)`` reads it. A key is missing where the record had no
    /// value, or a pruned payload no room.
    open var recordFields: [String: Any]? { content.fields?.mapValues(\.value) }

    /// A desired key whose field is a TIMESTAMP. Not in CloudKit: a payload does not say which numbers are dates.
    open func date(forKey key: CKRecord.FieldKey) -> Date? {
        (recordFields?[key] as? NSNumber).map { Date(timeIntervalSince1970: $0.doubleValue / 1_000) }
    }

    override var details: String {
        "\(queryNotificationReason) \(recordID?.description ?? "a record") in the \(databaseScope) database"
    }
}
