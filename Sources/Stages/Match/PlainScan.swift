import Events
import JSON
import PipelineKit
import Predicates

/// Finds the subscriptions that watch a change, but uses no index: it compares the change with every subscription.
///
/// The match bench checks that the index finds the same subscriptions, and compares the speed of both. The scan ignores
/// the owner of a zone in a shared database.
package struct PlainScan: ~Copyable {
    private struct PlainSubscription {
        let id: [UInt8]
        let container: [UInt8]
        let environment: [UInt8]
        let database: Database
        let user: [UInt8]
        let subscriptionType: Subscription.SubscriptionType
        let recordType: [UInt8]?
        /// The only watched zone; nil if the subscription watches several zones.
        let zone: [UInt8]?
        let firesOn: Reason
        let predicate: RecordPredicate
    }

    private var all: [PlainSubscription] = []
    private var parser = JSONParser(limits: SubscriptionStore.limits)

    package init() {}

    /// Adds the subscription of a `subscription.save`. Earlier subscriptions must have other identities, because the
    /// scan does not replace them.
    package mutating func add(_ line: UnsafeRawBufferPointer) throws {
        let one = try unsafe SubscriptionReader.subscription(parser.parse(line))
        let zone: [UInt8]? =
            switch one.zone {
            case .all: nil
            case .one(let zone): zone?.utf8 ?? SubscriptionReader.defaultZone
            }
        all.append(
            PlainSubscription(
                id: one.identity.subscriptionID.utf8, container: one.identity.container.utf8,
                environment: one.identity.environment.utf8,
                database: one.identity.database, user: one.identity.user.utf8,
                subscriptionType: one.subscriptionType, recordType: one.recordType?.utf8, zone: zone,
                firesOn: one.firesOn, predicate: one.predicate))
    }

    /// Calls `body` with the ID of each subscription that watches the change.
    package mutating func find(_ line: UnsafeRawBufferPointer, _ body: (borrowing [UInt8]) -> Void) throws {
        let json = try unsafe parser.parse(line)
        let event = unsafe InputEvent(sequence: 1, json: json, line: line)
        let change = try Change(event, isDelete: json[.type]?.equals(EventName.recordDelete) ?? false, at: .epoch)
        for one in all where watches(one, change) { body(one.id) }
    }

    private func watches(_ one: PlainSubscription, _ change: Change) -> Bool {
        one.firesOn.contains(change.reason) && one.database == change.database
            && change.container.equals(one.container) && change.environment.equals(one.environment)
            && change.owner?.equals(one.user) ?? true
            && one.recordType.map { change.recordType?.equals($0) ?? false } ?? true && isInZone(one, change)
            && one.predicate.matches(
                change.fields, of: change.record, now: change.milliseconds, save: change.save)
    }

    /// A database subscription watches every zone except the default zone (CKDatabaseSubscription).
    private func isInZone(_ one: PlainSubscription, _ change: Change) -> Bool {
        if let zone = one.zone {
            return change.zone.name?.equals(zone) ?? (zone == SubscriptionReader.defaultZone)
        }
        return one.subscriptionType != .database || !(change.zone.name?.equals(SubscriptionReader.defaultZone) ?? true)
    }
}

extension JSONValue {
    fileprivate func equals(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe plain?.isSame(as: bytes) ?? (withUTF8 { unsafe $0.isSame(as: bytes) } ?? false)
        }
    }
}
