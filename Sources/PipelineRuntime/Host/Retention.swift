import EventLog
import PipelineKit

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
struct Retention {
    private let plan: HostPlan
    private var needs: ConsumerNeeds?
    private var segment: UInt64 = 0
    private var nextCheck: ContinuousClock.Instant?
    private var hasComplained = false

    private static let interval = Duration.seconds(60)

    init(_ plan: HostPlan) {
        self.plan = plan
        do { needs = try ConsumerNeeds(logDirectory: plan.logDirectory) } catch {
            StandardError.write("\(plan.stage): nothing is removed from '\(plan.logName)': \(error)")
        }
    }

    /// Looks whether something may go: when a segment was begun, and every minute.
    ///
    /// - Returns: The first sequence that is left, where something went.
    mutating func turn(_ outlet: StageOutlet, _ need: StageNeed) -> UInt64? {
        takeNeeds(outlet.server)
        let time = plan.time.steady()
        guard plan.retention.isOn, outlet.log.segmentFirst != segment || nextCheck.map({ time >= $0 }) ?? true else {
            return nil
        }
        (segment, nextCheck) = (outlet.log.segmentFirst, time + Retention.interval)
        var first: UInt64?
        attempt { me in
            try me.needs?.save()
            first = try me.trim(outlet, need)
        }
        return first
    }

    private mutating func takeNeeds(_ server: LinkServer) {
        guard var needs, let told = server.takeTold() else { return }
        let needsMore = needs.take(told.filter { plan.consumers.contains($0.key) })
        self.needs = needs
        if needsMore { attempt { try $0.needs?.save() } }
    }

    private func trim(_ outlet: StageOutlet, _ need: StageNeed) throws -> UInt64? {
        let now = plan.clock == .wall ? outlet.now() : outlet.log.lastNow
        try outlet.trimDeadLetters(before: now.advanced(by: .zero - plan.retention.deadLettersAge))
        guard let needs else { return nil }
        let segments = try outlet.log.segments()
        let needed = min(
            need.own, needs.first(of: plan.consumers), outlet.server.firstNeeded(besides: plan.consumers))
        let removed = try outlet.log.trim(before: min(needed, bound(segments, now)))
        return removed.last.map { $0.lastSequence + 1 }
    }

    /// The first sequence that age and size let stay.
    private func bound(_ segments: [SegmentFacts], _ now: Instant) -> UInt64 {
        var total = segments.reduce(0) { $0 + $1.bytes }
        var bound: UInt64 = 1
        for segment in segments.dropLast() {
            let isOld = plan.retention.age.map { now - (segment.lastNow ?? now) > $0 } ?? false
            let isTooMuch = plan.retention.bytes.map { total > UInt64($0) } ?? false
            guard isOld || isTooMuch else { break }
            total -= segment.bytes
            bound = segment.lastSequence + 1
        }
        return bound
    }

    private mutating func attempt(_ body: (inout Retention) throws -> Void) {
        do {
            try body(&self)
            hasComplained = false
        } catch {
            guard !hasComplained else { return }
            hasComplained = true
            StandardError.write("\(plan.stage): nothing is removed from '\(plan.logName)' for now: \(error)")
        }
    }
}
