import EventLog
import PipelineKit
import Synchronization
import Time

/// Removes the oldest segments of a stage's log, by the pipeline file's `retention`.
///
/// A segment is removed when it is older than `age` or the log is larger than `bytes`. But it stays while a stage or
/// another consumer needs it:
///
/// - Each stage that reads the log reports over its link the first sequence that it may ask for again. This is the
///   sequence after the older of the stage's two newest snapshots. A stage with fewer snapshots needs the whole log,
///   and so does a stage that has never connected. A stage that is a program needs the events that its program has not
///   answered. The gateway needs the events that its store does not have. The reports are kept beside the log, so that
///   they count while the stage or the gateway is down.
/// - Any other consumer, such as `belfry tap`, needs the events after its position while it is connected.
/// - The stage itself needs its own log from the older of its two newest snapshots on. If the stage has fewer
///   snapshots, it needs its whole log. A source also needs the earlier events that it may read again. A stage that is
///   a program needs no event of its own log.
///
/// Dead letters are removed by age alone: see ``PipelineKit/RetentionSettings/deadLettersAge``.
///
/// The files are listed, written and removed on a dispatch queue, so that the stage does not wait.
final class Retention {
    private let plan: HostPlan
    private let files: RetentionFiles
    private var positions: ConsumerPositions?
    private var segmentAtLastCheck: UInt64 = 0
    private var nextCheck: ContinuousClock.Instant?

    private static let interval = Duration.seconds(60)

    init(_ plan: HostPlan) {
        self.plan = plan
        do { positions = try ConsumerPositions(logDirectory: plan.logDirectory) } catch {
            StandardError.write("\(plan.stage): nothing is removed from '\(plan.logName)': \(error)")
        }
        files = RetentionFiles(plan, saved: positions)
    }

    /// Looks for removable segments in the background, and begins to remove the segments that an earlier call found.
    ///
    /// - Returns: The first sequence that will remain; nil if no segment is removed. The removed files may still exist,
    ///   but from now on no consumer may start at an earlier sequence.
    func work(_ outlet: StageOutlet, _ floor: RetentionFloor) -> UInt64? {
        takeReports(outlet.server)
        if let removable = files.takeRemovable() { return remove(removable, outlet, floor) }
        let time = plan.time.monotonicNow()
        let isNewSegment = outlet.log.segmentFirst != segmentAtLastCheck
        guard plan.retention.isOn, isNewSegment || nextCheck.map({ time >= $0 }) ?? true else { return nil }
        (segmentAtLastCheck, nextCheck) = (outlet.log.segmentFirst, time + Retention.interval)
        look(outlet, floor)
        return nil
    }

    /// Calls `body`, on any thread, when ``work(_:_:)`` can remove segments.
    func onReady(_ body: @escaping @Sendable () -> Void) { files.onReady(body) }

    func finish() { files.wait() }

    private func takeReports(_ server: LinkServer) {
        guard var positions, let reported = server.takeReported() else { return }
        let needsMore = positions.update(with: reported.filter { plan.consumers.contains($0.key) })
        self.positions = positions
        if needsMore { files.save(positions) }
    }

    /// Checks again which events are needed, because more may be needed now than when the segments were listed.
    private func remove(_ removable: [SegmentFacts], _ outlet: StageOutlet, _ floor: RetentionFloor) -> UInt64? {
        let needed = firstNeeded(outlet, floor)
        let removable = Array(removable.prefix { $0.lastSequence < needed })
        guard let last = removable.last else { return nil }
        files.remove(removable, from: outlet.log.segmentsOnDisk)
        return last.lastSequence + 1
    }

    private func firstNeeded(_ outlet: StageOutlet, _ floor: RetentionFloor) -> UInt64 {
        guard let positions else { return 1 }
        return min(floor.own, positions.first(of: plan.consumers), outlet.server.firstNeeded(besides: plan.consumers))
    }

    private func look(_ outlet: StageOutlet, _ floor: RetentionFloor) {
        let now = plan.clock == .wall ? outlet.now() : outlet.log.lastNow
        if let letters = outlet.deadLetters.segmentsOnDisk {
            files.remove(from: letters, before: now.advanced(by: .zero - plan.retention.deadLettersAge))
        }
        guard let positions else { return }
        files.save(positions)
        files.look(for: plan.retention, outlet.log.segmentsOnDisk, before: firstNeeded(outlet, floor), at: now)
    }
}

final class RetentionFiles: Sendable {
    private let plan: HostPlan
    private let queue: any SyncQueue
    private let state = Mutex(State())

    private struct State {
        /// The segments that were listed and that the host has not taken yet.
        var removable: [SegmentFacts] = []
        /// The positions that are in the file.
        var saved: ConsumerPositions?
        var onReady: (@Sendable () -> Void)?
        var hasComplained = false
    }

    /// - Parameter saved: The positions that are in the file.
    init(_ plan: HostPlan, saved: ConsumerPositions?) {
        self.plan = plan
        queue = plan.calls.makeQueue()
        state.withLock { $0.saved = saved }
    }

    func onReady(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onReady = body } }

    func wait() { queue.runAndWait {} }

    func save(_ positions: ConsumerPositions) {
        attempt { [self] in
            guard state.withLock({ $0.saved != positions }) else { return }
            try positions.save()
            state.withLock { $0.saved = positions }
        }
    }

    /// Lists the removable segments for ``takeRemovable()``.
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

    /// Takes the segments that were listed last; nil if none are removable, or if they were taken already.
    func takeRemovable() -> [SegmentFacts]? {
        state.withLock { state in
            defer { state.removable = [] }
            return state.removable.isEmpty ? nil : state.removable
        }
    }

    func remove(_ removable: [SegmentFacts], from segments: SegmentsOnDisk) {
        attempt { try segments.remove(removable) }
    }

    /// Removes the segments whose events are all older than a time.
    func remove(from segments: SegmentsOnDisk, before time: Instant) {
        attempt {
            let old = try segments.list().prefix { $0.lastNow.map { $0 < time } ?? true }
            guard let last = old.last else { return }
            try segments.remove(segments.removable(before: last.lastSequence + 1))
        }
    }

    /// The first sequence that the limits on age and size do not remove.
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
        queue.schedule(after: .zero) { [self] in
            do {
                try body()
                state.withLock { $0.hasComplained = false }
            } catch {
                let isNew = state.withLock { state in
                    defer { state.hasComplained = true }
                    return !state.hasComplained
                }
                if isNew {
                    StandardError.write(
                        "\(plan.stage): `retention` is not fully applied to '\(plan.logName)' for now: \(error)")
                }
            }
        }
    }
}
