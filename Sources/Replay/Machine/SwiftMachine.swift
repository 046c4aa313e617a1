import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// A registered stage as a machine.
package final class SwiftMachine<S: Stage>: StageMachine {
    package let output = MachineOutput()
    var clock: StageClock<S>
    private var events: EventReader
    private let answers: any AnswerSource
    private let settings: S.Settings
    private let context: StageContext
    private let history: SettingsHistory?
    private var epochs: SettingsEpochs<S>

    /// - Parameter history: The settings that count in place of the given ones, where it holds some.
    package init(
        _ settings: S.Settings, context: StageContext, answers: any AnswerSource, history: SettingsHistory? = nil,
        limits: JSONLimits = EventReader.linkLimits
    ) throws {
        (self.settings, self.context, self.history) = (settings, context, history)
        epochs = try SettingsEpochs(S.snapshotVersion == nil ? nil : history, else: settings)
        clock = StageClock(try S(epochs.first, context: context))
        events = EventReader(limits: limits)
        self.answers = answers
    }

    package var deadline: Instant? { clock.stage.deadline }

    package func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        try receive(lines, first: first, at: now, &clock, &events, &output.outbox, &output.marks)
    }

    /// Has everything that it changes for all of a run's events at once: to ask for it at each of them costs as much as
    /// to read a short event.
    private func receive(
        _ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant, _ clock: inout StageClock<S>,
        _ events: inout EventReader, _ outbox: inout Outbox, _ marks: inout [MachineOutput.Mark]
    ) throws {
        var sequence = first
        var lastEvent = epochs.lastEvent
        for line in Lines(lines) {
            if sequence > lastEvent { lastEvent = try adopt(before: sequence, &clock) }
            if clock.isDue(at: now) { try wake(&clock, through: now, &outbox) }
            events.read(line, sequence: sequence, into: &outbox) { event, out in
                clock.receive(event, at: now, into: &out)
            }
            if !outbox.deliveries.isEmpty { try answer(&clock, &outbox) }
            marks.add(sequence, at: clock.now, outbox)
            sequence += 1
        }
    }

    /// - Returns: The last event that is fed under the settings that count then.
    private func adopt(before sequence: UInt64, _ clock: inout StageClock<S>) throws -> UInt64 {
        while let settings = epochs.next(beforeEvent: sequence) { try clock.adopt(settings, context: context) }
        return epochs.lastEvent
    }

    package func advance(to time: Instant) throws {
        while let settings = epochs.next(beforeWakeAt: time) { try clock.adopt(settings, context: context) }
        try wake(&clock, through: time, &output.outbox)
        clock.advance(to: time, into: &output.outbox)
        output.mark(nil, at: clock.now)
    }

    /// Takes back a source's own events.
    package func recall(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) {
        var sequence = first
        for line in Lines(lines) {
            events.read(line, sequence: sequence, into: &output.outbox) { event, _ in clock.recall(event, at: now) }
            sequence += 1
        }
    }

    /// What a wake hands out is answered before the next.
    private func wake(_ clock: inout StageClock<S>, through time: Instant, _ outbox: inout Outbox) throws {
        while clock.isDue(at: time) {
            clock.serveNext(into: &outbox)
            if !outbox.deliveries.isEmpty { try answer(&clock, &outbox) }
        }
    }

    /// A stage's outcomes come in the order of its pushes, whenever each is answered: so each is at once.
    private func answer(_ clock: inout StageClock<S>, _ outbox: inout Outbox) throws {
        for delivery in outbox.takeDeliveries() {
            let answer = try answers.answer(to: delivery)
            if output.keepsDeliveries { output.deliveries.append(delivery) }
            clock.receive(answer, into: &outbox)
        }
    }
}

extension SwiftMachine {
    /// Takes over the state of a snapshot, and the time when it was taken.
    package func restore(_ state: UnsafeRawBufferPointer, _ header: SnapshotHeader) throws {
        epochs = try SettingsEpochs(history, else: settings, from: header.position)
        var (stage, reader) = (try S(epochs.first, context: context), SnapshotReader(state))
        try stage.restore(from: &reader)
        guard reader.isAtEnd else { throw SnapshotError("there is more than the stage reads", at: 0) }
        clock = StageClock(stage, now: header.now)
    }
}
