import Foundation
import JSON

/// Watches every zone of a private or shared database but the default zone.
public final class CKDatabaseSubscription: CKSubscription {
    /// Narrows it to records of one type; nil for all.
    public var recordType: CKRecord.RecordType?

    @available(*, deprecated, message: "give the subscription an ID of your own: init(subscriptionID:)")
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    public init(subscriptionID: CKSubscription.ID) {
        super.init(SubscriptionForm(subscriptionID: subscriptionID), as: .database)
    }

    public required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .database)
        recordType = form.recordType
        super.init(form, as: .database)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKDatabaseSubscription(subscriptionID: subscriptionID)
        (copy.recordType, copy.notificationInfo) = (recordType, notificationInfo)
        return copy
    }

    override func writeWatched(into buffer: inout ByteBuffer) { buffer.append(member: "recordType", recordType) }
}
