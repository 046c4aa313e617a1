import Foundation

/// Watches every zone of a private or shared database but the default zone.
open class CKDatabaseSubscription: CKSubscription {
    /// Narrows it to records of one type; nil for all.
    open var recordType: CKRecord.RecordType? {
        get { form.recordType }
        set { change { $0.recordType = newValue } }
    }

    /// Makes a random subscription ID.
    @available(*, deprecated, message: "give the subscription an ID of your own: init(subscriptionID:)")
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    /// Watches the database in which the subscription is saved.
    public init(subscriptionID: CKSubscription.ID) {
        super.init(coder: FormCoder(SubscriptionForm(subscriptionID: subscriptionID, type: .database)))
    }

    public required init(coder: NSCoder) {
        super.init(coder: FormCoder(SubscriptionForm(from: coder, as: .database)))
    }

    open override func copy(with zone: NSZone? = nil) -> Any {
        CKDatabaseSubscription(coder: FormCoder(form))
    }
}
