import JSON
import PipelineKit

/// Matching alone, without a log around it: from an event's bytes to the subscriptions that watch the change. For
/// measurements, and for tests against other engines.
package struct Watchers: ~Copyable {
    var index = SubscriptionIndex()
    private var parser = JSONParser(limits: JSONLimits(depthMax: JSONLimits().depthMax + 8))
    private var found: [SubscriptionIndex.Found] = []
    private var sequence: UInt64 = 0

    package init() {}

    /// How many subscriptions are saved.
    package var count: Int { index.count }

    package mutating func reserveCapacity(_ count: Int) { index.reserveCapacity(count) }

    /// Takes a `subscription.save` or `subscription.delete`.
    ///
    /// - Throws: ``Rejection`` or `JSONError` for a line that is neither, or not well formed.
    package mutating func take(_ line: UnsafeRawBufferPointer) throws {
        sequence += 1
        let json = try parser.parse(line)
        if json["type"]?.equals("subscription.delete") ?? false {
            index.delete(try SubscriptionReader.identity(json, json, ""))
        } else {
            index.save(try SubscriptionReader.subscription(json), at: sequence)
        }
    }

    /// Calls `body` with the ID of each subscription that watches a change, in the order in which they were saved.
    ///
    /// - Parameter line: A `record.save` or `record.delete`.
    /// - Throws: ``Rejection`` or `JSONError` for a line that is neither, or not well formed.
    @inline(__always)
    package mutating func find(_ line: UnsafeRawBufferPointer, _ body: (borrowing [UInt8]) -> Void) throws {
        index.find(try change(line), into: &found)
        for match in found { body(index[match.slot].subscription.identity.subscriptionID) }
        found.removeAll(keepingCapacity: true)
        index.clear()
    }

    /// The same by a look at every subscription, in no order.
    package mutating func scan(_ line: UnsafeRawBufferPointer, _ body: (borrowing [UInt8]) -> Void) throws {
        try index.scan(change(line)) { body($0.subscription.identity.subscriptionID) }
    }

    @inline(__always)
    private mutating func change(_ line: UnsafeRawBufferPointer) throws -> Change {
        sequence += 1
        let json = try parser.parse(line)
        let event = InputEvent(sequence: sequence, json: json, line: line)
        return try Change(event, isDelete: json["type"]?.equals("record.delete") ?? false)
    }
}

extension SubscriptionIndex {
    /// Looks at all subscriptions, without lists.
    fileprivate func scan(_ change: Change, _ body: (Stored) -> Void) {
        for slot in slots.values where watches(self[slot].subscription, change) { body(self[slot]) }
    }

    private func watches(_ subscription: Subscription, _ change: Change) -> Bool {
        guard subscription.firesOn.contains(change.reason), subscription.identity.database == change.database,
            change.container.equals(subscription.identity.container),
            change.environment.equals(subscription.identity.environment),
            change.owner?.equals(subscription.identity.user) ?? true,
            subscription.recordType.map({ change.recordType?.equals($0) ?? false }) ?? true,
            isInZone(subscription, change)
        else { return false }
        return subscription.predicate.matches(change.fields, of: change.record)
    }

    private func isInZone(_ subscription: Subscription, _ change: Change) -> Bool {
        let zone = change.zone.name
        if let wanted = subscription.zone {
            return zone?.equals(wanted) ?? (wanted == SubscriptionReader.defaultZone)
        }
        return subscription.subject != .database || !(zone?.equals(SubscriptionReader.defaultZone) ?? true)
    }
}

extension JSONValue {
    fileprivate func equals(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in plain?.isSame(as: bytes) ?? (withUTF8 { $0.isSame(as: bytes) } ?? false) }
    }
}
