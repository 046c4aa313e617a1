import Events
import JSON
import PipelineKit
import Time

/// Keeps the saved subscriptions and writes a match for each subscription that watches a change.
///
/// A subscription watches the changes after its save. The matches of a change are in the order in which their
/// subscriptions were saved. A `not_matched` event counts the changes that no subscription watches.
/// Match writes no event for a saved or deleted zone or subscription. Events that are not about records, zones or
/// subscriptions are passed on unchanged.
package struct MatchStage: Stage {
    package static let kind = "match"
    package static let reads: LogKind? = .changes
    package static let writes: LogKind? = .matches

    private let context: StageContext
    let settings: MatchSettings
    var index = SubscriptionIndex()
    var tally = UnmatchedTally()
    /// The subscriptions that watch the current change. Between changes the array is empty, but keeps its memory unless
    /// there was an unusually large number of matches.
    private var found: [SubscriptionIndex.SavedSlot] = []
    /// The change whose matches did not all fit into the outbox at once. Nil once all its matches are written.
    private var fanOut: FanOut?

    package init(_ settings: MatchSettings, context: StageContext) throws(SettingsError) {
        self.context = context
        self.settings = settings
    }

    package var deadline: Instant? { tally.deadline }

    package mutating func wake(at now: Instant, into out: inout Outbox) { tally.wake(into: &out) }

    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        guard settings.lane.takes(event.value) else { return }
        tally.begin(event.sequence, into: &out)
        do {
            try process(event, at: now, into: &out)
        } catch {
            out.reject(event, error)
        }
        if fanOut == nil { tally.end(event.sequence, into: &out) }
    }

    package var isUnfinished: Bool { fanOut != nil }

    package mutating func proceed(at now: Instant, into out: inout Outbox) {
        guard var fanOut = fanOut.take() else { return }
        fanOut.withChange(at: now) { fanOut.written = write($0, from: fanOut.written, into: &out) }
        guard fanOut.written == found.count else {
            self.fanOut = fanOut
            return
        }
        endMatches()
        tally.end(fanOut.sequence, into: &out)
    }

    private mutating func process(
        _ event: borrowing InputEvent, at now: Instant, into out: inout Outbox
    ) throws(Rejection) {
        guard let type = event.value[.type] else { return out.pass(event) }
        if type.equals(EventName.recordSave) {
            match(event, try Change(event, isDelete: false, at: now), at: now, into: &out)
        } else if type.equals(EventName.recordDelete) {
            match(event, try Change(event, isDelete: true, at: now), at: now, into: &out)
        } else if type.equals(EventName.subscriptionSave) {
            try index.save(SubscriptionReader.subscription(event.value, settings), at: event.sequence)
        } else if type.equals(EventName.subscriptionDelete) {
            index.delete(try SubscriptionReader.identity(of: event.value, subscriptionIDIn: event.value, at: ""))
        } else if !type.equals(EventName.zoneSave), !type.equals(EventName.zoneDelete) {
            out.pass(event)
        }
    }

    @inline(__always)
    private mutating func match(
        _ event: borrowing InputEvent, _ change: Change, at now: Instant, into out: inout Outbox
    ) {
        index.find(change, into: &found)
        if found.isEmpty {
            tally.add(at: now)
        } else {
            let written = write(change, from: 0, into: &out)
            if written < found.count { fanOut = FanOut(event, written: written) } else { endMatches() }
        }
    }

    /// Writes the matches that are not written yet, until the outbox is full.
    ///
    /// - Parameter written: The number of the change's matches that are already written.
    /// - Returns: `written` plus the number of matches that this call wrote.
    private func write(_ change: Change, from written: Int, into out: inout Outbox) -> Int {
        var writer = MatchWriter(
            change: change, notificationID: context.upstream.uuid(position: change.sequence))
        var next = written
        repeat {
            let match = found[next]
            out.append { writer.write(match.slot, index, to: &$0) }
            next += 1
        } while next < found.count && !out.isFull
        return next
    }

    /// Deletes matched subscriptions with `firesOnce`, as CloudKit does after the first push
    /// (CKQuerySubscription.Options.firesOnce).
    private mutating func endMatches() {
        for match in found where index.store[match.slot].firesOnce { index.delete(match.slot) }
        found.removeAll(keepingCapacity: found.count <= 65_536)
    }
}
