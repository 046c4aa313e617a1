import Foundation

/// A notification of a change to a record that a query subscription watches.
open class CKQueryNotification: CKNotification {
    /// What happened to the record. The raw values are the payload's.
    public enum Reason: Int, Sendable, BitwiseCopyable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    /// The database of the record.
    open var databaseScope: CKDatabase.Scope { content.databaseScope }
    /// What happened to the record; ``Reason/recordCreated`` if the payload has no valid reason.
    open var queryNotificationReason: Reason { content.reason }
    /// The record that changed; nil if a pruned payload left out the record's name, or its zone's name or owner.
    open var recordID: CKRecord.ID? { content.recordID }
    /// The values of the desired keys of a created or updated record: `String`, `NSNumber`, ``CLLocation`` or
    /// ``CKRecord/Reference``. A date is a number, which ``date(forKey:)`` converts. A key is missing if the record had
    /// no value, or if a pruned payload left the value out. Nil if the payload has no values.
    open var recordFields: [String: Any]? { content.fields?.mapValues(\.value) }

    /// The date in a desired key of type TIMESTAMP. CloudKit has no such method. A payload does not say which numbers
    /// are dates, so the caller must know that the key holds one.
    open func date(forKey key: CKRecord.FieldKey) -> Date? {
        (recordFields?[key] as? NSNumber).map { Date(timeIntervalSince1970: $0.doubleValue / 1_000) }
    }

    override var details: String {
        "\(queryNotificationReason) \(recordID?.description ?? "a record") in the \(databaseScope) database"
    }
}
