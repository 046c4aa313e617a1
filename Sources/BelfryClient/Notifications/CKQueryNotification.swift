import Foundation

/// Tells of a record that a query subscription watches.
public final class CKQueryNotification: CKNotification {
    /// What happened to the record. The raw values are those of the payload.
    public enum Reason: Int, Sendable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    public let databaseScope: CKDatabase.Scope
    /// Created, where the payload says nothing else.
    public let queryNotificationReason: Reason
    /// Nil where it was left out of a pruned payload.
    public let recordID: CKRecord.ID?
    /// Values of the desired keys, for created and updated records: `String`, `NSNumber`, ``CLLocation`` or
    /// ``CKRecord/Reference``. A date is a number, ``date(forKey:)`` reads it. A key is missing where the record had no
    /// value, or a pruned payload no room.
    public let recordFields: [String: Any]?

    override init(_ payload: NotificationPayload) {
        databaseScope = payload.databaseScope
        queryNotificationReason = payload.content.integer("fo").flatMap(Reason.init) ?? .recordCreated
        let zoneID = payload.zoneID
        recordID = payload.content.text("rid").flatMap { name in
            zoneID.map { CKRecord.ID(recordName: name, zoneID: $0) }
        }
        recordFields = payload.content.dictionary("af").map { RecordFields($0, in: zoneID ?? .default).values }
        super.init(payload)
    }

    /// A desired key whose field is a TIMESTAMP. Not in CloudKit: a payload does not say which numbers are dates.
    public func date(forKey key: CKRecord.FieldKey) -> Date? {
        (recordFields?[key] as? NSNumber).map { Date(timeIntervalSince1970: $0.doubleValue / 1_000) }
    }

    override var details: String {
        "\(queryNotificationReason) \(recordID?.description ?? "a record") in the \(databaseScope) database"
    }
}

/// The values under `af`.
private struct RecordFields {
    private(set) var values: [String: Any] = [:]
    private let zoneID: CKRecordZone.ID

    /// - Parameter zoneID: Where a reference without a zone points.
    init(_ fields: Payload, in zoneID: CKRecordZone.ID) {
        self.zoneID = zoneID
        for (key, value) in fields.members {
            guard let key = key.base as? String else { continue }
            values[key] = (value as? [AnyHashable: Any]).flatMap { object(Payload(members: $0)) } ?? value
        }
    }

    private func object(_ value: Payload) -> Any? {
        if let latitude = value.number("latitude"), let longitude = value.number("longitude") {
            return CLLocation(latitude: latitude.doubleValue, longitude: longitude.doubleValue)
        }
        guard let name = value.text("recordName") else { return nil }
        let recordID = CKRecord.ID(recordName: name, zoneID: value.dictionary("zoneID").flatMap(zone) ?? zoneID)
        return CKRecord.Reference(
            recordID: recordID, action: CKRecord.ReferenceAction(word: value.text("action")))
    }

    private func zone(_ value: Payload) -> CKRecordZone.ID? {
        value.text("zoneName").map {
            CKRecordZone.ID(zoneName: $0, ownerName: value.text("ownerRecordName") ?? CKCurrentUserDefaultName)
        }
    }
}
