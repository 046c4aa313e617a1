import EventLog
import PipelineKit
import Time

/// Rebuilds a stage's state: feeds the stage its input, the wakes and answers that its own log records, and the
/// settings that are recorded beside the log. Drops the stage's outputs, because they are in the log already.
struct StageRebuild<S: Stage>: ~Copyable {
    private var clock: StageClock<S>
    private var periods: SettingsPeriods<S>
    /// The last upstream event to feed.
    let through: UInt64
    private let context: StageContext
    private var batches: RecordedBatches
    private var events = EventReader(limits: EventReader.linkLimits)
    private var out = Outbox()
    /// The lane whose events the stage takes; nil for all events.
    private let lane: Lane?
    private let lanes: LaneReader?

    init(
        _ clock: StageClock<S>, _ context: StageContext, _ periods: SettingsPeriods<S>, through: UInt64,
        by batches: RecordedBatches, lane: Lane?
    ) {
        (self.lane, lanes) = (lane, lane.map { LaneReader($0.count) })
        (self.clock, self.context, self.periods, self.through, self.batches) = (
            clock, context, periods, through, batches
        )
    }

    /// Feeds the next event. Its sequence must not be greater than ``through``.
    mutating func feed(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws {
        try prepare(forEvent: sequence)
        if batches.setAside == sequence { return }
        wakeStage(through: now)
        if isOfOtherLane(line) {
            clock.passOver(at: now, into: &out)
        } else if let event = events.read(line, sequence: sequence, into: &out) {
            clock.begin(event, at: now, into: &out)
        }
        finishStep()
    }

    /// Most lines in the log are of other lanes. Match would leave them out, too, but only after it has parsed them.
    private func isOfOtherLane(_ line: UnsafeRawBufferPointer) -> Bool {
        guard let lane, let lanes else { return false }
        return line.isEmpty || lanes.number(ofLine: line).map { $0 != lane.number } ?? false
    }

    /// Handles the remaining recorded batches, once all events were fed.
    mutating func finish() throws {
        try repeatRecorded(before: .max)
        try adoptSettings(before: through)
        answerAndDropOutputs()
    }

    /// Feeds the events of the upstream's log after `position`, as far as ``through``. Then handles the remaining
    /// recorded batches. An error that `check` throws ends the work.
    mutating func feed(from directory: String, after position: UInt64, check: () throws -> Void) throws {
        let reader = try EventLogReader(directory: directory, from: .sequence(position + 1))
        var next = position + 1
        while next <= through {
            try check()
            guard let batch = try reader.next() else {
                throw RebuildError.missingEvent(log: directory, sequence: next)
            }
            var sequence = batch.header.firstSequence
            for line in Lines(batch.body) {
                if sequence >= next, sequence <= through { try feed(line, sequence, at: batch.header.now) }
                sequence += 1
            }
            next = max(next, sequence)
        }
        try finish()
    }

    mutating func adoptLastSettings() throws { try adoptSettings(before: .max) }

    /// The rebuilt stage, and the settings that come later.
    consuming func ended() -> (StageClock<S>, SettingsPeriods<S>) { (clock, periods) }

    private mutating func prepare(forEvent sequence: UInt64) throws {
        try repeatRecorded(before: sequence)
        try adoptSettings(before: sequence)
        answerAndDropOutputs()
    }

    /// Repeats what the stage did before it got this event, as its log records it.
    private mutating func repeatRecorded(before sequence: UInt64) throws {
        while let action = batches.next(before: sequence) {
            switch action {
            case .feed: return
            case .advance(let now):
                while let settings = periods.next(beforeWakeAt: now) { try adopt(settings) }
                wakeStage(through: now)
                clock.advance(to: now, into: &out)
            case .settle:
                for answer in batches.takeAnswers() { clock.receive(answer, into: &out) }
                answerAndDropOutputs()
            case .readBatch: try batches.readBatch()
            }
        }
    }

    private mutating func adoptSettings(before sequence: UInt64) throws {
        while let settings = periods.next(beforeEvent: sequence) { try adopt(settings) }
    }

    private mutating func adopt(_ settings: S.Settings) throws {
        answerAndDropOutputs()
        try clock.adopt(settings, context: context)
    }

    private mutating func wakeStage(through time: Instant) {
        while clock.isDue(at: time) {
            clock.beginWake(into: &out)
            finishStep()
        }
    }

    private mutating func finishStep() {
        while clock.isUnfinished {
            out.removeEvents()
            clock.proceed(into: &out)
        }
        giveImmediateAnswers()
    }

    /// Gives the stage the answers that came at once, in the same batch as their push. A push without such an answer is
    /// still in flight.
    private mutating func giveImmediateAnswers() {
        while case let deliveries = out.takeDeliveries(), !deliveries.isEmpty {
            for delivery in deliveries {
                if let answer = batches.takeAnswer(to: delivery.id) { clock.receive(answer, into: &out) }
            }
        }
    }

    /// Gives the answers first, because dropping the outputs also drops the pushes that they answer.
    private mutating func answerAndDropOutputs() {
        giveImmediateAnswers()
        out.discard()
    }
}
