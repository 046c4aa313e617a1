import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A registered stage as a machine.
package final class SwiftMachine<S: Stage>: StageMachine {
    package let output = MachineOutput()
    var clock: StageClock<S>
    private var events: EventReader
    private let answers: any AnswerSource
    private let settings: S.Settings
    private let context: StageContext
    private let history: SettingsHistory?
    private var epochs: SettingsPeriods<S>

    /// - Parameter history: The settings that count in place of the given ones, where it holds some.
    package init(
        _ settings: S.Settings, context: StageContext, answers: any AnswerSource, history: SettingsHistory? = nil,
        limits: JSONLimits = EventReader.linkLimits
    ) throws {
        (self.settings, self.context, self.history) = (settings, context, history)
        epochs = try SettingsPeriods(S.snapshotVersion == nil ? nil : history, else: settings)
        clock = StageClock(try S(epochs.first, context: context))
        events = EventReader(limits: limits)
        self.answers = answers
    }

    package var deadline: Instant? { clock.stage.deadline }

    package func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        let answered = Answered(answers, output)
        var run = EventRun(lines: Lines(lines), next: first)
        while !run.lines.isAtEnd {
            while let settings = epochs.next(beforeEvent: run.next) { try clock.adopt(settings, context: context) }
            run.last = epochs.lastEvent
            try clock.receive(&run, at: now, &events, &output.outbox, &output.marks, answered)
        }
    }

    package func advance(to time: Instant) throws {
        while let settings = epochs.next(beforeWakeAt: time) { try clock.adopt(settings, context: context) }
        try clock.wake(through: time, &output.outbox, Answered(answers, output))
        clock.advance(to: time, into: &output.outbox)
        output.mark(nil, at: clock.now)
    }

    package func skip(through sequence: UInt64) throws { try answers.skip(through: sequence) }

    package func begin(_ header: BatchHeader?) throws { try answers.begin(header) }

    package func settle() throws {
        for answer in try answers.rest() { receive(answer) }
    }

    /// Gives the stage an answer.
    func receive(_ answer: TransportAnswer) {
        clock.receive(answer, into: &output.outbox)
        output.mark(nil, at: clock.now)
    }

    /// Takes back a source's own events.
    package func recall(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) {
        var sequence = first
        for line in Lines(lines) {
            if let event = events.read(line, sequence: sequence, into: &output.outbox) {
                clock.recall(event, at: now)
            }
            sequence += 1
        }
    }
}

extension SwiftMachine {
    /// Takes over the state of a snapshot, and the time when it was taken.
    package func restore(_ state: [UInt8], _ header: SnapshotHeader) throws {
        epochs = try SettingsPeriods(history, else: settings, from: header.position)
        var stage = try S(epochs.first, context: context)
        var reader = SnapshotReader(state.span.bytes)
        try stage.restore(from: &reader)
        guard reader.isAtEnd else { throw SnapshotError("there is more than the stage reads", at: 0) }
        clock = StageClock(stage, now: header.now)
    }
}

/// Events of one batch, cut where other settings begin to count.
private struct EventRun {
    var lines: Lines
    var next: UInt64
    /// The last event that is fed under the settings that count.
    var last: UInt64 = 0
}

/// Answers a stage's deliveries from a source, where it has answers at once, and keeps them where they are wanted.
private struct Answered {
    private let source: any AnswerSource
    private let output: MachineOutput

    init(_ source: any AnswerSource, _ output: MachineOutput) { (self.source, self.output) = (source, output) }

    func answer(_ delivery: Delivery) throws -> TransportAnswer? {
        if output.keepsDeliveries { output.deliveries.append(delivery) }
        return try source.answer(to: delivery)
    }
}

/// The loop belongs to the clock, and has everything that it changes for all of a run's events at once: to ask for a
/// property of a generic type at each of them costs as much as to read a short event.
extension StageClock {
    /// Takes the events that are fed under the settings that count.
    fileprivate mutating func receive(
        _ run: inout EventRun, at time: Instant, _ events: inout EventReader, _ outbox: inout Outbox,
        _ marks: inout [MachineOutput.Mark], _ answered: Answered
    ) throws {
        while run.next <= run.last, let line = run.lines.next() {
            if isDue(at: time) { try wake(through: time, &outbox, answered) }
            if let event = events.read(line, sequence: run.next, into: &outbox) {
                receive(event, at: time, into: &outbox)
            }
            if !outbox.deliveries.isEmpty { try answer(&outbox, answered) }
            marks.add(run.next, at: now, outbox)
            run.next += 1
        }
    }

    fileprivate mutating func wake(through time: Instant, _ outbox: inout Outbox, _ answered: Answered) throws {
        while isDue(at: time) {
            serveNext(into: &outbox)
            if !outbox.deliveries.isEmpty { try answer(&outbox, answered) }
        }
        if let fault { throw fault }
    }

    /// Gives the answers that came at once.
    private mutating func answer(_ outbox: inout Outbox, _ answered: Answered) throws {
        for delivery in outbox.takeDeliveries() {
            if let answer = try answered.answer(delivery) { receive(answer, into: &outbox) }
        }
    }
}
