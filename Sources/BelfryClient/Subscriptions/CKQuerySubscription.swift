import Foundation
import JSON
import Synchronization

/// Watches the records of one type that fulfil a predicate, in a public or private database.
public final class CKQuerySubscription: CKSubscription {
    public nonisolated let recordType: CKRecord.RecordType?
    public nonisolated let querySubscriptionOptions: Options
    /// The zone whose records are watched; nil for those of every zone.
    public nonisolated var zoneID: CKRecordZone.ID? {
        get { watchedZone.withLock { $0 } }
        set { watchedZone.withLock { $0 = newValue } }
    }
    /// Says the same as the one that was given; of a block that is nothing, and it cannot be saved.
    public nonisolated var predicate: NSPredicate { source?.predicate ?? NSPredicate(value: false) }
    /// Nil for a block.
    nonisolated let source: PredicateSource?
    private nonisolated let watchedZone: Mutex<CKRecordZone.ID?>

    @available(
        *, deprecated,
        message: "give the subscription an ID of your own: init(recordType:predicate:subscriptionID:options:)"
    )
    public nonisolated convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate, options: Options = [])
    {
        self.init(
            recordType: recordType, predicate: predicate, subscriptionID: UUID().uuidString, options: options)
    }

    /// - Parameters:
    ///   - predicate: Made with ``PredicateFormat/init(format:_:)``, `NSPredicate(value:)`, or of those with
    ///     `NSCompoundPredicate`. A block cannot be saved.
    ///   - options: At least one of creation, update and deletion.
    public nonisolated convenience init(
        recordType: CKRecord.RecordType, predicate: NSPredicate, subscriptionID: CKSubscription.ID,
        options: Options = []
    ) {
        self.init(
            recordType: recordType, source: PredicateSource(predicate), subscriptionID: subscriptionID, options: options
        )
    }

    private nonisolated init(
        recordType: CKRecord.RecordType, source: PredicateSource?, subscriptionID: CKSubscription.ID, options: Options
    ) {
        (self.recordType, self.source, querySubscriptionOptions) = (recordType, source, options)
        watchedZone = Mutex(nil)
        super.init(SubscriptionForm(subscriptionID: subscriptionID), as: .query)
    }

    public nonisolated required init(coder: NSCoder) {
        let form = SubscriptionForm(from: coder, as: .query)
        recordType = form.recordType
        source = form.predicate ?? PredicateSource(text: "FALSEPREDICATE")
        querySubscriptionOptions = form.options
        watchedZone = Mutex(form.zoneID)
        super.init(form, as: .query)
    }

    public nonisolated override func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuerySubscription(
            recordType: recordType ?? "", source: source, subscriptionID: subscriptionID,
            options: querySubscriptionOptions)
        (copy.zoneID, copy.notificationInfo) = (zoneID, notificationInfo)
        return copy
    }

    nonisolated override func writeWatched(into buffer: inout ByteBuffer) {
        buffer.append(",\"query\":{\"recordType\":")
        buffer.appendJSON(recordType ?? "")
        if let source {
            buffer.append(",")
            source.writeMembers(into: &buffer)
        }
        buffer.append("}")
        writeZone(into: &buffer)
        querySubscriptionOptions.writeMembers(into: &buffer)
    }

    /// Without a zone CloudKit's own API watches all zones, Web Services the default zone unless `zoneWide` is set.
    private nonisolated func writeZone(into buffer: inout ByteBuffer) {
        guard let zoneID else { return buffer.append(",\"zoneWide\":true") }
        buffer.append(",\"zoneID\":")
        zoneID.write(into: &buffer)
    }
}
