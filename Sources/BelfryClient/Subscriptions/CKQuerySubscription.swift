import Foundation

/// Watches the records of one type that match a predicate, in a public or private database.
open class CKQuerySubscription: CKSubscription {
    /// The type of the watched records.
    open var recordType: CKRecord.RecordType { form.recordType ?? "" }
    /// The changes that fire the subscription, and whether it fires once.
    open var querySubscriptionOptions: Options { form.options }
    /// The zone of the watched records; nil for all zones.
    open var zoneID: CKRecordZone.ID? {
        get { form.zoneID }
        set { change { $0.zoneID = newValue } }
    }
    /// The condition for the watched records.
    open var predicate: NSPredicate { given }
    private let given: NSPredicate

    /// Makes a subscription with a random ID.
    @available(
        *, deprecated,
        message: "give the subscription an ID of your own: init(recordType:predicate:subscriptionID:options:)"
    )
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate, options: Options = []) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString, options: options)
    }

    /// - Parameters:
    ///   - predicate: Made with ``PredicateFormat/init(format:_:)`` or `NSPredicate(value:)`, or a compound of these. A
    ///     block cannot be saved.
    ///   - options: At least one of creation, update and deletion.
    public init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options: Options = []
    ) {
        var form = SubscriptionForm(subscriptionID: subscriptionID, type: .query)
        (form.recordType, form.predicate, form.options) = (recordType, PredicateSource(predicate), options)
        given = predicate
        super.init(coder: FormCoder(form))
    }

    public required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .query)
        given = form.predicate?.predicate ?? NSPredicate(value: false)
        super.init(coder: FormCoder(form))
    }

    open override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuerySubscription(
            recordType: recordType, predicate: given, subscriptionID: subscriptionID, options: querySubscriptionOptions)
        (copy.zoneID, copy.notificationInfo) = (zoneID, notificationInfo)
        return copy
    }
}
