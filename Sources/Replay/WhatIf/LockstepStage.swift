import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// An event as both worlds have it: the recorded one, and the one in which something is changed.
struct LockstepEvent {
    var sequence: UInt64
    /// Without its line feed; valid during a call.
    var line: UnsafeRawBufferPointer
}

/// Runs a stage twice, side by side: as it ran, and as it would have run with something changed.
///
/// A *step* is one event of the recorded input, or one recorded wake, with what the variant has in its place. The
/// recorded machine is fed and woken exactly as when its log was made. The variant's is woken at the same steps; what it
/// gives in a step reaches the next stage when the recorded stage's events of that step did, so that only what the
/// change causes differs, and nothing because of when a batch happened to be written. Where the recorded stage gave
/// nothing, or was never woken, the variant's own time counts. When a log ends, both go on by their own deadlines.
final class LockstepStage {
    private let recorded: RecordedStage
    private let baseline: any StageMachine
    private let variant: any StageMachine
    private let consumers: [LockstepStage]
    private let comparison: PushComparison
    /// What both machines include already.
    let start: StageStart
    private var wakes: RecordedWakes
    private var times: RecordedTimes
    private var lastTaken: UInt64
    private var (baselineNext, variantNext): (UInt64, UInt64)
    /// The latest step's.
    private var time: Instant

    init(
        _ recorded: RecordedStage, baseline: any StageMachine, variant: any StageMachine, consumers: [LockstepStage],
        start: StageStart, comparison: PushComparison
    ) throws {
        self.recorded = recorded
        self.baseline = baseline
        self.variant = variant
        self.consumers = consumers
        self.comparison = comparison
        self.start = start
        (lastTaken, time) = (start.cursor, start.now)
        (baselineNext, variantNext) = (start.sequence + 1, start.sequence + 1)
        baseline.output.keepsDeliveries = true
        variant.output.keepsDeliveries = true
        wakes = try RecordedWakes(recorded, after: start)
        times = try RecordedTimes(recorded)
        try baseline.skip(through: start.sequence)
        try beginPart()
    }

    /// The answers that the recorded stage had in its next batch are for both.
    private func beginPart() throws {
        try baseline.begin(wakes.header)
        try variant.begin(wakes.header)
    }

    /// One step. Either event may be missing, not both.
    func take(_ baselineEvent: LockstepEvent?, _ variantEvent: LockstepEvent?, at now: Instant) throws {
        if let sequence = baselineEvent?.sequence {
            guard sequence > start.cursor else { return }
            while let wake = try wakes.next(before: sequence) { try self.wake(at: wake) }
            lastTaken = sequence
        } else {
            while let wake = try wakes.next(before: lastTaken + 1, until: now) { try self.wake(at: wake) }
        }
        try serveDeadlines(through: now)
        // What the stage crashed on neither world feeds to it.
        if let sequence = baselineEvent?.sequence, recorded.setAside.contains(sequence) { return try pass(at: now) }
        if let event = baselineEvent { try baseline.receive(event.line, first: event.sequence, at: now) }
        if let event = variantEvent { try variant.receive(event.line, first: event.sequence, at: now) }
        try pass(at: now)
    }

    /// Serves all that is recorded, then all that is due in either world.
    func finish() throws {
        while let wake = try wakes.next(before: .max) { try self.wake(at: wake) }
        try serveDeadlines(through: .distantFuture)
        for consumer in consumers { try consumer.finish() }
    }

    // MARK: Time

    private func wake(at now: Instant) throws {
        try serveDeadlines(through: now)
        try baseline.advance(to: now)
        try variant.advance(to: now)
        try baseline.settle()
        try variant.settle()
        try beginPart()
        try pass(at: now)
    }

    /// A deadline that both have waits for its recorded wake, as long as there are any.
    private func serveDeadlines(through moment: Instant) throws {
        while let deadline = nextDeadline, deadline <= moment {
            if wakes.isOver, baseline.deadline == deadline { try baseline.advance(to: deadline) }
            if variant.deadline == deadline { try variant.advance(to: deadline) }
            try pass(at: deadline)
        }
    }

    private var nextDeadline: Instant? {
        guard wakes.isOver else { return variant.deadline == baseline.deadline ? nil : variant.deadline }
        return [baseline.deadline, variant.deadline].compactMap { $0 }.min()
    }

    // MARK: Passing on

    private func pass(at now: Instant) throws {
        defer {
            baseline.output.removeAll()
            variant.output.removeAll()
        }
        try comparison.compare(baseline.output.deliveries, variant.output.deliveries)
        guard baseline.output.count + variant.output.count > 0 else { return }
        for (baselineLine, variantLine) in LinePairs(baseline.output.lines, variant.output.lines) {
            try pass(baselineLine, variantLine, at: now)
        }
    }

    private func pass(
        _ baselineLine: UnsafeRawBufferPointer?, _ variantLine: UnsafeRawBufferPointer?, at now: Instant
    ) throws {
        var arrival = max(now, time)
        let baselineEvent = baselineLine.map { LockstepEvent(sequence: baselineNext, line: $0) }
        let variantEvent = variantLine.map { LockstepEvent(sequence: variantNext, line: $0) }
        if let event = baselineEvent, let recorded = try times.time(of: event.sequence) { arrival = recorded }
        time = max(time, arrival)
        baselineNext += baselineLine == nil ? 0 : 1
        variantNext += variantLine == nil ? 0 : 1
        for consumer in consumers { try consumer.take(baselineEvent, variantEvent, at: arrival) }
    }
}

/// When a stage was woken, after which of its input: the batches of its own log.
struct RecordedWakes {
    private let upstream: String
    private let reader: EventLogReader
    /// Of the batch at hand; nil behind the log's end.
    private(set) var header: BatchHeader?
    private var cursor: UInt64 = 0

    /// - Parameter start: Batches that it includes are passed over.
    init(_ recorded: RecordedStage, after start: StageStart) throws(EventLogError) {
        upstream = recorded.context.upstreamName
        reader = try EventLogReader(directory: recorded.log.directory, from: .beginning)
        repeat { try step() } while header.map(start.includes) ?? false
    }

    /// Whether the log has ended.
    var isOver: Bool { header == nil }

    /// The next batch's time, if it answers only events before `sequence` and is not later than `time`.
    mutating func next(before sequence: UInt64, until time: Instant = .distantFuture) throws(EventLogError) -> Instant?
    {
        guard let header, cursor < sequence, header.now <= time else { return nil }
        try step()
        return header.now
    }

    private mutating func step() throws(EventLogError) {
        header = try reader.nextHeader()
        if let position = header?.cursor.positions[upstream] { cursor = position }
    }
}

/// When a stage's events were appended.
struct RecordedTimes {
    private let reader: EventLogReader
    private var header: BatchHeader?

    init(_ recorded: RecordedStage) throws(EventLogError) {
        reader = try EventLogReader(directory: recorded.log.directory, from: .beginning)
    }

    /// Nil for an event that the log does not hold. Asked for in order.
    mutating func time(of sequence: UInt64) throws(EventLogError) -> Instant? {
        while header.map({ $0.nextSequence <= sequence }) ?? true {
            guard let next = try reader.nextHeader() else { return nil }
            header = next
        }
        return header?.now
    }
}
