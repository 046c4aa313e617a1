import Events
import JSON
import PipelineKit

/// Finds the subscriptions that watch a change, without a stage or a log.
///
/// Benches use it, and so do tests that check which pairs of subscription and change it finds. In predicates, `now()`
/// is always the start of 1970. A subscription with `firesOnce` is not deleted at its first match.
package struct Watchers: ~Copyable {
    private var index = SubscriptionIndex()
    private var parser = JSONParser(limits: SubscriptionStore.limits)
    private var found: [SubscriptionIndex.SavedSlot] = []
    private var sequence: UInt64 = 0

    package init() {}

    package var subscriptionCount: Int { index.count }

    package mutating func reserveCapacity(_ count: Int) { index.reserveCapacity(count) }

    /// Writes the subscriptions in the form of the stage's snapshot.
    package func write(into snapshot: inout SnapshotWriter) { index.write(into: &snapshot) }

    /// Reads the subscriptions of a snapshot. Call it before any subscription is added.
    package mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try index.read(from: &snapshot, MatchSettings())
    }

    /// Applies a `subscription.save` or `subscription.delete`.
    ///
    /// - Throws: ``Rejection`` or `JSONError` if the line is invalid; ``Rejection`` also if the index is full.
    package mutating func apply(_ line: UnsafeRawBufferPointer) throws {
        sequence += 1
        let json = try unsafe parser.parse(line)
        if json[.type]?.equals(EventName.subscriptionDelete) ?? false {
            index.delete(try SubscriptionReader.identity(of: json, subscriptionIDIn: json, at: ""))
        } else {
            try index.save(SubscriptionReader.subscription(json), at: sequence)
        }
    }

    /// Calls `body` with the ID of each subscription that watches a change, in the order of their saves.
    ///
    /// - Parameter line: A `record.save` or `record.delete`.
    /// - Throws: ``Rejection`` or `JSONError` if the line is invalid.
    @inline(__always)
    package mutating func find(_ line: UnsafeRawBufferPointer, _ body: (borrowing [UInt8]) -> Void) throws {
        unsafe index.find(try change(line), into: &found)
        for match in found { unsafe body(index.store.id(match.slot).utf8) }
        found.removeAll(keepingCapacity: true)
    }

    /// The number of subscriptions that watch a change.
    @inline(__always)
    package mutating func countMatches(of line: UnsafeRawBufferPointer) throws -> Int {
        unsafe index.find(try change(line), into: &found)
        defer { found.removeAll(keepingCapacity: true) }
        return found.count
    }

    @_lifetime(borrow line)
    @inline(__always)
    private mutating func change(_ line: UnsafeRawBufferPointer) throws -> Change {
        sequence += 1
        let json = try unsafe parser.parse(line)
        let event = unsafe InputEvent(sequence: sequence, json: json, line: line)
        return try Change(event, isDelete: json[.type]?.equals(EventName.recordDelete) ?? false, at: .epoch)
    }
}
