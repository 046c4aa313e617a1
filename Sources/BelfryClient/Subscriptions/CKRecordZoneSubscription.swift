import Foundation
import JSON

/// Watches one zone of a private database.
public final class CKRecordZoneSubscription: CKSubscription {
    public let zoneID: CKRecordZone.ID
    /// Narrows it to records of one type; nil for all.
    public var recordType: CKRecord.RecordType?

    @available(*, deprecated, message: "give the subscription an ID of your own: init(zoneID:subscriptionID:)")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.zoneID = zoneID
        super.init(SubscriptionForm(subscriptionID: subscriptionID), as: .recordZone)
    }

    public required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .recordZone)
        zoneID = form.zoneID ?? .default
        recordType = form.recordType
        super.init(form, as: .recordZone)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
        (copy.recordType, copy.notificationInfo) = (recordType, notificationInfo)
        return copy
    }

    override func writeWatched(into buffer: inout ByteBuffer) {
        buffer.append(",\"zoneID\":")
        zoneID.write(into: &buffer)
        buffer.append(member: "recordType", recordType)
    }
}
