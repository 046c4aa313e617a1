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

    package init(
        _ settings: S.Settings, context: StageContext, answers: any AnswerSource,
        limits: JSONLimits = EventReader.linkLimits
    ) throws(SettingsError) {
        clock = StageClock(try S(settings, context: context))
        events = EventReader(limits: limits)
        self.answers = answers
    }

    package var deadline: Instant? { clock.stage.deadline }

    package func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        var sequence = first
        for line in Lines(lines) {
            events.read(line, sequence: sequence, into: &output.outbox) { event, out in
                clock.receive(event, at: now, into: &out)
            }
            if !output.outbox.deliveries.isEmpty { try answer() }
            output.mark(sequence, at: clock.now)
            sequence += 1
        }
    }

    package func advance(to time: Instant) throws {
        clock.advance(to: time, into: &output.outbox)
        if !output.outbox.deliveries.isEmpty { try answer() }
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

    /// A stage's outcomes come in the order of its pushes, whenever each is answered: so each is at once.
    private func answer() throws {
        for delivery in output.outbox.takeDeliveries() {
            let answer = try answers.answer(to: delivery)
            if output.keepsDeliveries { output.deliveries.append(delivery) }
            clock.receive(answer, at: clock.now, into: &output.outbox)
        }
    }
}

extension StageClock {
    /// Takes over the state that a stage of the kind wrote down, and the time when it did.
    mutating func restore(from snapshot: inout SnapshotReader, at now: Instant) throws(SnapshotError) {
        var stage = stage
        try stage.restore(from: &snapshot)
        self = StageClock(stage, now: now)
    }
}
