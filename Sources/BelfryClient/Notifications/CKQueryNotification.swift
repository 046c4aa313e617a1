import Foundation

/// Tells of a record that a query subscription watches.
public final class CKQueryNotification: CKNotification {
    /// What happened to the record. The raw values are those of the payload.
    public enum Reason: Int, Sendable, BitwiseCopyable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    public nonisolated let databaseScope: CKDatabase.Scope
    /// Created, where the payload says nothing else.
    public nonisolated let queryNotificationReason: Reason
    /// Nil where it was left out of a pruned payload.
    public nonisolated let recordID: CKRecord.ID?
    /// Values of the desired keys, for created and updated records: `String`, `NSNumber`, ``CLLocation`` or
    /// ``CKRecord/Reference``. A date is a number, ``date(forKey:)`` reads it. A key is missing where the record had no
    /// value, or a pruned payload no room.
    public nonisolated var recordFields: [String: Any]? { fields?.mapValues(\.value) }
    private nonisolated let fields: [String: RecordFieldValue]?

    nonisolated override init(_ payload: NotificationPayload) {
        databaseScope = payload.databaseScope
        queryNotificationReason = payload.content?.integer("fo").flatMap(Reason.init) ?? .recordCreated
        let zoneID = payload.zoneID
        recordID = payload.content?.text("rid").flatMap { name in
            zoneID.map { CKRecord.ID(recordName: name, zoneID: $0) }
        }
        fields = payload.content?.dictionary("af").map { RecordFieldValue.read($0, in: zoneID ?? .default) }
        super.init(payload)
    }

    /// A desired key whose field is a TIMESTAMP. Not in CloudKit: a payload does not say which numbers are dates.
    public nonisolated func date(forKey key: CKRecord.FieldKey) -> Date? {
        (recordFields?[key] as? NSNumber).map { Date(timeIntervalSince1970: $0.doubleValue / 1_000) }
    }

    nonisolated override var details: String {
        "\(queryNotificationReason) \(recordID?.description ?? "a record") in the \(databaseScope) database"
    }
}
