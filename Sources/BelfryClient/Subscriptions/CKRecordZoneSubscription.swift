import Foundation
import JSON
import Synchronization

/// Watches one zone of a private database.
public final class CKRecordZoneSubscription: CKSubscription {
    public nonisolated let zoneID: CKRecordZone.ID
    /// Narrows it to records of one type; nil for all.
    public nonisolated var recordType: CKRecord.RecordType? {
        get { narrowed.withLock { $0 } }
        set { narrowed.withLock { $0 = newValue } }
    }
    private nonisolated let narrowed: Mutex<CKRecord.RecordType?>

    @available(*, deprecated, message: "give the subscription an ID of your own: init(zoneID:subscriptionID:)")
    public nonisolated convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    public nonisolated init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.zoneID = zoneID
        narrowed = Mutex(nil)
        super.init(SubscriptionForm(subscriptionID: subscriptionID), as: .recordZone)
    }

    public nonisolated required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .recordZone)
        zoneID = form.zoneID ?? .default
        narrowed = Mutex(form.recordType)
        super.init(form, as: .recordZone)
    }

    public nonisolated override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
        (copy.recordType, copy.notificationInfo) = (recordType, notificationInfo)
        return copy
    }

    nonisolated override func writeWatched(into buffer: inout ByteBuffer) {
        buffer.append(",\"zoneID\":")
        zoneID.write(into: &buffer)
        buffer.append(member: "recordType", recordType)
    }
}
