import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// An input event of the baseline or of the variant.
struct LockstepEvent {
    var sequence: UInt64
    /// Without its line feed. Valid only during the call to which it is passed.
    var line: UnsafeRawBufferPointer
}

/// Runs a stage twice, step by step: the baseline as recorded, and the variant with the ``WhatIfChange``.
///
/// A *step* is one recorded wake, or one event of the recorded input and the event that the variant gets in its place.
/// An event that only the variant gets is a step too. The baseline is fed and woken exactly as when its log was made.
/// The variant is woken at the same steps, and for each deadline that only the variant has. The variant's outputs of a
/// step reach the next stage at the time of the recorded outputs of that step. If the step has no recorded outputs, the
/// variant's outputs reach the next stage at the time of the event, wake or deadline that led to them. So the variant
/// differs only by the effects of the ``WhatIfChange``, and not by the moments at which batches happened to be written.
/// After the end of the log both machines follow their own deadlines.
final class LockstepStage {
    private let recorded: RecordedStage
    private let baseline: any StageMachine
    private let variant: any StageMachine
    private let consumers: [LockstepStage]
    private let comparison: PushComparison
    let start: StageStart
    private var wakes: RecordedWakes
    private var times: RecordedTimes
    /// The last recorded input event that was fed.
    private var lastFed: UInt64
    private var (baselineNext, variantNext): (UInt64, UInt64)
    /// The latest time at which an output was passed to the consumers; at first, the time of the start.
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
        (lastFed, time) = (start.cursor, start.now)
        (baselineNext, variantNext) = (start.sequence + 1, start.sequence + 1)
        baseline.output.keepsDeliveries = true
        variant.output.keepsDeliveries = true
        wakes = try RecordedWakes(recorded, after: start)
        times = try RecordedTimes(recorded)
        try baseline.skip(through: start.sequence)
        try beginBatch()
    }

    /// Lets both machines use the recorded answers of the next batch.
    private func beginBatch() throws {
        try baseline.begin(wakes.header)
        try variant.begin(wakes.header)
    }

    /// Runs the recorded wakes that come before the events, then the step of the events. At most one of the events is
    /// nil. Does nothing for a baseline event that comes before the start.
    func runStep(
        baseline baselineEvent: LockstepEvent?, variant variantEvent: LockstepEvent?, at now: Instant
    ) throws {
        if let sequence = baselineEvent?.sequence {
            guard sequence > start.cursor else { return }
            while let wake = try wakes.next(before: sequence) { try self.wake(at: wake) }
            lastFed = sequence
        } else {
            while let wake = try wakes.next(before: lastFed + 1, until: now) { try self.wake(at: wake) }
        }
        try serveDeadlines(through: now)
        // The stage crashed on this event, so neither machine gets it.
        if let sequence = baselineEvent?.sequence, recorded.setAside.contains(sequence) { return try pass(at: now) }
        if let event = baselineEvent { try baseline.receive(event.line, first: event.sequence, at: now) }
        if let event = variantEvent { try variant.receive(event.line, first: event.sequence, at: now) }
        try pass(at: now)
    }

    /// Runs every remaining recorded wake, then every deadline of either machine. Then finishes the consumers.
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
        try beginBatch()
        try pass(at: now)
    }

    /// Wakes the machines for deadlines up to `moment`. Until the log has ended, this wakes the variant for the
    /// deadlines that only the variant has. For all other deadlines, both machines wait for the recorded wakes.
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

    // MARK: Outputs

    private func pass(at now: Instant) throws {
        defer {
            baseline.output.removeAll()
            variant.output.removeAll()
        }
        try comparison.compare(baseline.output.deliveries, variant.output.deliveries)
        guard baseline.output.count + variant.output.count > 0 else { return }
        for (baselineLine, variantLine) in LinePairs(baseline.output.lines, variant.output.lines).pairs {
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
        for consumer in consumers { try consumer.runStep(baseline: baselineEvent, variant: variantEvent, at: arrival) }
    }
}

/// The recorded wakes of a stage. They are the times of the batches in its own log: before the host appends a batch, it
/// wakes the stage for every deadline up to the batch's `now`.
private struct RecordedWakes {
    private let upstream: String
    private let reader: EventLogReader
    /// The next batch's header; nil after the log's end.
    private(set) var header: BatchHeader?
    private var cursor: UInt64 = 0

    /// - Parameter start: The batches before this start are skipped.
    init(_ recorded: RecordedStage, after start: StageStart) throws(EventLogError) {
        upstream = recorded.context.upstreamName
        reader = try EventLogReader(directory: recorded.log.directory, from: .beginning)
        repeat { try step() } while header.map(start.includes) ?? false
    }

    var isOver: Bool { header == nil }

    /// The next batch's time; nil if the batch's cursor is not before `sequence`, if the batch is later than `time`, or
    /// if the log has ended.
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

/// The times at which a stage's events reach the next stage: the `now` of the batches that carry them.
private struct RecordedTimes {
    private let reader: EventLogReader
    private var header: BatchHeader?

    init(_ recorded: RecordedStage) throws(EventLogError) {
        reader = try EventLogReader(directory: recorded.log.directory, from: .beginning)
    }

    /// Nil after the log's last event. Call with ascending sequences.
    mutating func time(of sequence: UInt64) throws(EventLogError) -> Instant? {
        while header.map({ $0.nextSequence <= sequence }) ?? true {
            guard let next = try reader.nextHeader() else { return nil }
            header = next
        }
        return header?.now
    }
}
