import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Reads a source's log back into a new source, as when it starts again.
struct SourceRecall {
    private let stage: RecordedStage
    private let feed: (UnsafeRawBufferPointer, UInt64, Instant) -> Void

    init(_ stage: RecordedStage, _ factory: MachineFactory) throws {
        self.stage = stage
        feed = try SourceRecall.feed(factory.stageType(stage.stage), stage)
    }

    private static func feed<S: Stage>(_ type: S.Type, _ stage: RecordedStage) throws
        -> (UnsafeRawBufferPointer, UInt64, Instant) -> Void
    {
        let machine = try SwiftMachine<S>(
            stage.stage.settings.decode(S.Settings.self), context: stage.context, answers: AcceptedAnswers())
        return { lines, first, now in
            machine.recall(lines, first: first, at: now)
            machine.output.removeAll()
        }
    }

    func run(_ progress: StageProgress) throws {
        let reader = try EventLogReader(directory: stage.log.directory, from: .beginning)
        while let batch = try reader.next(), !progress.isCancelled {
            feed(batch.body, batch.header.firstSequence, batch.header.now)
            progress.add(events: batch.header.count, bytes: batch.body.count)
        }
    }
}
