import Foundation
import JSON

/// Watches the records of one type that fulfil a predicate, in a public or private database.
public final class CKQuerySubscription: CKSubscription {
    public let recordType: CKRecord.RecordType?
    public let predicate: NSPredicate
    public let querySubscriptionOptions: Options
    /// The zone whose records are watched; nil for those of every zone.
    public var zoneID: CKRecordZone.ID?

    @available(
        *, deprecated,
        message: "give the subscription an ID of your own: init(recordType:predicate:subscriptionID:options:)"
    )
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate, options: Options = []) {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString, options: options)
    }

    /// - Parameters:
    ///   - predicate: Made with ``PredicateFormat/init(format:_:)``, `NSPredicate(value:)`, or of those with
    ///     `NSCompoundPredicate`. A block cannot be saved.
    ///   - options: At least one of creation, update and deletion.
    public init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options: Options = []
    ) {
        (self.recordType, self.predicate, querySubscriptionOptions) = (recordType, predicate, options)
        super.init(SubscriptionForm(subscriptionID: subscriptionID), as: .query)
    }

    public required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .query)
        recordType = form.recordType
        predicate = TextPredicate(form.predicate ?? PredicateSource(text: "FALSEPREDICATE"))
        querySubscriptionOptions = form.options
        zoneID = form.zoneID
        super.init(form, as: .query)
    }

    public override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuerySubscription(
            recordType: recordType ?? "", predicate: predicate, subscriptionID: subscriptionID,
            options: querySubscriptionOptions)
        (copy.zoneID, copy.notificationInfo) = (zoneID, notificationInfo)
        return copy
    }

    override func writeWatched(into buffer: inout ByteBuffer) {
        buffer.append(",\"query\":{\"recordType\":")
        buffer.appendJSON(recordType ?? "")
        if let source = PredicateSource(predicate) {
            buffer.append(",")
            source.writeMembers(into: &buffer)
        }
        buffer.append("}")
        writeZone(into: &buffer)
        querySubscriptionOptions.writeMembers(into: &buffer)
    }

    /// Without a zone CloudKit's own API watches all zones, Web Services the default zone unless `zoneWide` is set.
    private func writeZone(into buffer: inout ByteBuffer) {
        guard let zoneID else { return buffer.append(",\"zoneWide\":true") }
        buffer.append(",\"zoneID\":")
        zoneID.write(into: &buffer)
    }
}
