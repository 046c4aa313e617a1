import EventLog
import PipelineKit
import Synchronization
import Time

/// Drops the oldest segments of a stage's log, as the pipeline file's `retention` says.
///
/// A segment goes when it is older than `age` or the log is larger than `bytes`, and nobody needs it any more:
///
/// - The stages of the pipeline file that read the log tell over their links from where on they may ask for it again:
///   from the older of their two newest snapshots. A stage without two snapshots needs all of it, and so does one that
///   has never connected. What a stage told is kept beside the log, so that it holds while the stage is down.
/// - Any other consumer, such as `belfry tap`, counts while it is connected.
/// - The stage itself needs its log from its own snapshots on.
///
/// Dead letters go by age alone, and never below their own floor.
///
/// Files are listed, written and removed on a queue: the stage does not wait for them.
final class Retention {
    private let plan: HostPlan
    private let files: RetentionFiles
    private var needs: ConsumerPositions?
    private var segment: UInt64 = 0
    private var nextCheck: ContinuousClock.Instant?

    private static let interval = Duration.seconds(60)

    init(_ plan: HostPlan) {
        self.plan = plan
        files = RetentionFiles(plan)
        do { needs = try ConsumerPositions(logDirectory: plan.logDirectory) } catch {
            StandardError.write("\(plan.stage): nothing is removed from '\(plan.logName)': \(error)")
        }
    }

    /// Looks whether something may go: when a segment was begun, and every minute.
    ///
    /// - Returns: The first sequence that stays, where something is about to go: nobody may be let in before it.
    func turn(_ outlet: StageOutlet, _ need: RetentionFloor) -> UInt64? {
        takeNeeds(outlet.server)
        if let removable = files.takeRemovable() { return remove(removable, outlet, need) }
        let time = plan.time.steady()
        guard plan.retention.isOn, outlet.log.segmentFirst != segment || nextCheck.map({ time >= $0 }) ?? true else {
            return nil
        }
        (segment, nextCheck) = (outlet.log.segmentFirst, time + Retention.interval)
        look(outlet, need)
        return nil
    }

    /// Calls back when ``turn(_:_:)`` has something to do before its time, on any thread.
    func onReady(_ body: @escaping @Sendable () -> Void) { files.onReady(body) }

    /// Waits until nothing is being removed.
    func finish() { files.wait() }

    private func takeNeeds(_ server: LinkServer) {
        guard var needs, let told = server.takeTold() else { return }
        let needsMore = needs.take(told.filter { plan.consumers.contains($0.key) })
        self.needs = needs
        if needsMore { files.save(needs) }
    }

    /// Somebody may need more than when it was looked for.
    private func remove(_ removable: [SegmentFacts], _ outlet: StageOutlet, _ need: RetentionFloor) -> UInt64? {
        let needed = firstNeeded(outlet, need)
        let removable = Array(removable.prefix { $0.lastSequence < needed })
        guard let last = removable.last else { return nil }
        files.remove(removable, from: outlet.log.segmentsOnDisk)
        return last.lastSequence + 1
    }

    private func firstNeeded(_ outlet: StageOutlet, _ need: RetentionFloor) -> UInt64 {
        guard let needs else { return 1 }
        return min(need.own, needs.first(of: plan.consumers), outlet.server.firstNeeded(besides: plan.consumers))
    }

    private func look(_ outlet: StageOutlet, _ need: RetentionFloor) {
        let now = plan.clock == .wall ? outlet.now() : outlet.log.lastNow
        if let letters = outlet.deadLettersOnDisk {
            files.remove(from: letters, before: now.advanced(by: .zero - plan.retention.deadLettersAge))
        }
        guard let needs else { return }
        files.save(needs)
        files.look(for: plan.retention, outlet.log.segmentsOnDisk, before: firstNeeded(outlet, need), at: now)
    }
}

/// What of retention waits for the disk.
final class RetentionFiles: Sendable {
    private let plan: HostPlan
    private let queue: any SyncQueue
    private let state = Mutex(State())

    private struct State {
        /// What may go, once the host knows.
        var removable: [SegmentFacts] = []
        var onReady: (@Sendable () -> Void)?
        var hasComplained = false
    }

    init(_ plan: HostPlan) {
        self.plan = plan
        queue = plan.calls.makeQueue()
    }

    func onReady(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onReady = body } }

    func wait() { queue.now {} }

    func save(_ needs: ConsumerPositions) {
        attempt {
            var needs = needs
            try needs.save()
        }
    }

    /// Looks which segments may go; ``takeRemovable()`` gives them.
    func look(
        for retention: RetentionSettings, _ segments: SegmentsOnDisk, before needed: UInt64, at now: Instant
    ) {
        attempt { [self] in
            let bound = RetentionFiles.bound(try segments.list(), retention, now)
            let removable = try segments.removable(before: min(needed, bound))
            guard !removable.isEmpty else { return }
            let onReady = state.withLock { state in
                state.removable = removable
                return state.onReady
            }
            onReady?()
        }
    }

    /// What may go, once.
    func takeRemovable() -> [SegmentFacts]? {
        state.withLock { state in
            defer { state.removable = [] }
            return state.removable.isEmpty ? nil : state.removable
        }
    }

    func remove(_ removable: [SegmentFacts], from segments: SegmentsOnDisk) {
        attempt { try segments.remove(removable) }
    }

    /// Removes the segments whose events are all older.
    func remove(from segments: SegmentsOnDisk, before time: Instant) {
        attempt {
            let old = try segments.list().prefix { $0.lastNow.map { $0 < time } ?? true }
            guard let last = old.last else { return }
            try segments.remove(segments.removable(before: last.lastSequence + 1))
        }
    }

    /// The first sequence that age and size let stay.
    private static func bound(_ segments: [SegmentFacts], _ retention: RetentionSettings, _ now: Instant) -> UInt64 {
        var total = segments.reduce(0) { $0 + $1.bytes }
        var bound: UInt64 = 1
        for segment in segments.dropLast() {
            let isOld = retention.age.map { now - (segment.lastNow ?? now) > $0 } ?? false
            let isTooMuch = retention.bytes.map { total > UInt64($0) } ?? false
            guard isOld || isTooMuch else { break }
            total -= segment.bytes
            bound = segment.lastSequence + 1
        }
        return bound
    }

    private func attempt(_ body: @escaping @Sendable () throws -> Void) {
        queue.later(after: .zero) { [self] in
            do {
                try body()
                state.withLock { $0.hasComplained = false }
            } catch {
                let isNew = state.withLock { state in
                    defer { state.hasComplained = true }
                    return !state.hasComplained
                }
                if isNew {
                    StandardError.write("\(plan.stage): nothing is removed from '\(plan.logName)' for now: \(error)")
                }
            }
        }
    }
}
