import Foundation
import JSON
import Synchronization

/// Watches every zone of a private or shared database but the default zone.
public final class CKDatabaseSubscription: CKSubscription {
    /// Narrows it to records of one type; nil for all.
    public nonisolated var recordType: CKRecord.RecordType? {
        get { narrowed.withLock { $0 } }
        set { narrowed.withLock { $0 = newValue } }
    }
    private nonisolated let narrowed: Mutex<CKRecord.RecordType?>

    @available(*, deprecated, message: "give the subscription an ID of your own: init(subscriptionID:)")
    public nonisolated convenience init() { self.init(subscriptionID: UUID().uuidString) }

    public nonisolated init(subscriptionID: CKSubscription.ID) {
        narrowed = Mutex(nil)
        super.init(SubscriptionForm(subscriptionID: subscriptionID), as: .database)
    }

    public nonisolated required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .database)
        narrowed = Mutex(form.recordType)
        super.init(form, as: .database)
    }

    public nonisolated override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKDatabaseSubscription(subscriptionID: subscriptionID)
        (copy.recordType, copy.notificationInfo) = (recordType, notificationInfo)
        return copy
    }

    nonisolated override func writeWatched(into buffer: inout ByteBuffer) {
        buffer.append(member: "recordType", recordType)
    }
}
