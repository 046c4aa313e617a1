import Events
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
        let json = try unsafe parser.parse(line)
        if json[.type]?.equals(EventName.subscriptionDelete) ?? false {
            index.delete(try SubscriptionReader.identity(json, json, ""))
        } else {
            try index.save(SubscriptionReader.subscription(json), at: sequence)
        }
    }

    /// Calls `body` with the ID of each subscription that watches a change, in the order in which they were saved.
    ///
    /// - Parameter line: A `record.save` or `record.delete`.
    /// - Throws: ``Rejection`` or `JSONError` for a line that is neither, or not well formed.
    @inline(__always)
    package mutating func find(_ line: UnsafeRawBufferPointer, _ body: (borrowing [UInt8]) -> Void) throws {
        unsafe index.find(try change(line), into: &found)
        for match in found { unsafe body(index.store.id(match.slot).utf8) }
        found.removeAll(keepingCapacity: true)
    }

    /// How many subscriptions watch a change: all of ``find(_:_:)`` but their names.
    @inline(__always)
    package mutating func count(_ line: UnsafeRawBufferPointer) throws -> Int {
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
