import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Runs a registered stage in this process.
final class SwiftMachine<S: Stage>: StageMachine {
    let output = MachineOutput()
    var clock: StageClock<S>
    private var eventReader: EventReader
    private var recallReader = EventReader(limits: EventReader.linkLimits)
    private let answers: any AnswerSource
    private let settings: S.Settings
    private let context: StageContext
    private let history: SettingsHistory?
    private var periods: SettingsPeriods<S>

    /// - Parameter history: The recorded settings. Its entries for this kind of stage replace `settings`. Ignored for a
    ///   stage that takes no snapshots.
    init(
        _ settings: S.Settings, context: StageContext, answers: any AnswerSource, history: SettingsHistory? = nil
    ) throws {
        (self.settings, self.context, self.history) = (settings, context, history)
        periods = try SettingsPeriods(S.snapshotVersion == nil ? nil : history, else: settings)
        clock = StageClock(try S(periods.first, context: context))
        eventReader = S.isSource ? .atDoor() : EventReader(limits: EventReader.linkLimits)
        self.answers = answers
    }

    var deadline: Instant? { clock.stage.deadline }

    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        let pushes = PushAnswering(answers, output)
        var run = EventRun(lines: Lines(lines), next: first)
        while !run.lines.isAtEnd {
            while let settings = periods.next(beforeEvent: run.next) { try clock.adopt(settings, context: context) }
            run.last = periods.lastEvent
            try clock.receive(&run, at: now, &eventReader, &output.outbox, &output.marks, pushes)
        }
    }

    func advance(to time: Instant) throws {
        while let settings = periods.next(beforeWakeAt: time) { try clock.adopt(settings, context: context) }
        try clock.wake(through: time, &output.outbox, PushAnswering(answers, output))
        clock.advance(to: time, into: &output.outbox)
        output.mark(nil, at: clock.now)
    }

    func skip(through sequence: UInt64) throws { try answers.skip(through: sequence) }

    func begin(_ header: BatchHeader?) throws { try answers.begin(header) }

    func settle() throws {
        for answer in try answers.takeAnswersToEarlierPushes() { receive(answer) }
    }

    func receive(_ answer: TransportAnswer) {
        clock.receive(answer, into: &output.outbox)
        output.mark(nil, at: clock.now)
    }

    /// Feeds a source the events of its own log, as at a restart.
    func recall(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) {
        var sequence = first
        for line in Lines(lines) {
            if let event = recallReader.read(line, sequence: sequence, into: &output.outbox) {
                clock.recall(event, at: now)
            }
            sequence += 1
        }
    }
}

extension SwiftMachine {
    func restore(_ state: [UInt8], _ header: SnapshotHeader) throws {
        let periods = try SettingsPeriods<S>(history, else: settings, from: header.position)
        var stage = try S(periods.first, context: context)
        var reader = SnapshotReader(state.span.bytes)
        try stage.restore(from: &reader)
        guard reader.isAtEnd else { throw SnapshotError("the snapshot holds more bytes than the stage reads", at: 0) }
        self.periods = periods
        clock = StageClock(stage, now: header.now)
    }
}

/// The unread events of one batch.
private struct EventRun {
    var lines: Lines
    var next: UInt64
    /// The last event that the current settings apply to.
    var last: UInt64 = 0
}

/// Answers a stage's pushes, and keeps them if the output asks for it.
private struct PushAnswering {
    private let source: any AnswerSource
    private let output: MachineOutput

    init(_ source: any AnswerSource, _ output: MachineOutput) { (self.source, self.output) = (source, output) }

    func answer(_ delivery: Delivery) throws -> TransportAnswer? {
        if output.keepsDeliveries { output.deliveries.append(delivery) }
        return try source.answer(to: delivery)
    }
}

/// The loop over a run's events is a method of the clock. It gets the values that it changes as parameters, because
/// reading a property of the generic machine for each event would take as long as parsing a short event.
extension StageClock {
    /// Feeds the events that the current settings apply to.
    fileprivate mutating func receive(
        _ run: inout EventRun, at time: Instant, _ eventReader: inout EventReader, _ outbox: inout Outbox,
        _ marks: inout [MachineOutput.Mark], _ pushes: PushAnswering
    ) throws {
        while run.next <= run.last, let line = run.lines.next() {
            if isDue(at: time) { try wake(through: time, &outbox, pushes) }
            if let event = eventReader.read(line, sequence: run.next, into: &outbox) {
                receive(event, at: time, into: &outbox)
            }
            if !outbox.deliveries.isEmpty { try answer(&outbox, pushes) }
            marks.add(run.next, at: now, outbox)
            run.next += 1
        }
    }

    fileprivate mutating func wake(through time: Instant, _ outbox: inout Outbox, _ pushes: PushAnswering) throws {
        while isDue(at: time) {
            serveNext(into: &outbox)
            if !outbox.deliveries.isEmpty { try answer(&outbox, pushes) }
        }
        if let fault { throw fault }
    }

    private mutating func answer(_ outbox: inout Outbox, _ pushes: PushAnswering) throws {
        for delivery in outbox.takeDeliveries() {
            if let answer = try pushes.answer(delivery) { receive(answer, into: &outbox) }
        }
    }
}
