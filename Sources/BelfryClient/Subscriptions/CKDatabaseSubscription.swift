import Foundation

/// Watches all zones of a private or shared database except the default zone.
open class CKDatabaseSubscription: CKSubscription {
    /// The type of records to watch; nil for all types.
    open var recordType: CKRecord.RecordType? {
        get { form.recordType }
        set { change { $0.recordType = newValue } }
    }

    /// Makes a subscription with a random ID.
    @available(*, deprecated, message: "give the subscription an ID of your own: init(subscriptionID:)")
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    /// Makes a subscription that watches the database in which it is saved.
    public init(subscriptionID: CKSubscription.ID) {
        super.init(coder: FormCoder(SubscriptionForm(subscriptionID: subscriptionID, type: .database)))
    }

    public required init(coder: NSCoder) {
        super.init(coder: FormCoder(SubscriptionForm(from: coder, as: .database)))
    }

    open override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKDatabaseSubscription(coder: FormCoder(form))
        copy.notificationInfo = notificationInfo
        return copy
    }
}
