import Foundation

/// Watches one zone of a private database.
open class CKRecordZoneSubscription: CKSubscription {
    /// The watched zone.
    open var zoneID: CKRecordZone.ID { form.zoneID ?? .default }
    /// The type of records to watch; nil for all types.
    open var recordType: CKRecord.RecordType? {
        get { form.recordType }
        set { change { $0.recordType = newValue } }
    }

    /// Makes a subscription with a random ID.
    @available(*, deprecated, message: "give the subscription an ID of your own: init(zoneID:subscriptionID:)")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    /// Makes a subscription that watches one zone.
    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        var form = SubscriptionForm(subscriptionID: subscriptionID, type: .recordZone)
        form.zoneID = zoneID
        super.init(coder: FormCoder(form))
    }

    public required init(coder: NSCoder) {
        super.init(coder: FormCoder(SubscriptionForm(from: coder, as: .recordZone)))
    }

    open override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKRecordZoneSubscription(coder: FormCoder(form))
        copy.notificationInfo = notificationInfo
        return copy
    }
}
