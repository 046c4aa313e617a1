import EventLog
import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A stage of a pipeline, with the log that it wrote and the log that it read.
package struct RecordedStage: Sendable {
    package let stage: PipelineStage
    package let log: LogSummary
    /// Nil for a source.
    package let upstream: LogSummary?

    package var name: String { stage.name }
    package var isSource: Bool { upstream == nil }

    /// The identity of the upstream log, which the stage noted when it first read this log. Nil for a source, or if the
    /// stage has not read the log yet.
    package let notedUpstream: LogIdentity?

    /// The input events that the host set aside because the stage crashed on them, in log order.
    package let setAside: [UInt64]

    package var context: StageContext {
        let upstream = upstream ?? log
        var context = StageContext(log: log.identity, upstream: upstream.identity, upstreamName: upstream.name)
        context.past = LogPast(directory: log.directory)
        return context
    }

    /// The stage's input from the event `first` on, without the events that were set aside.
    func feed(from first: UInt64) throws(EventLogError) -> UpstreamFeed {
        try UpstreamFeed(log: (upstream ?? log).directory, from: first, skipping: setAside)
    }

    /// The last input event that is safe to feed after the end of the stage's log. The stage may have crashed on the
    /// event after it. `UInt64.max` if no note names such an event.
    func lastSafeInput(after cursor: UInt64) -> UInt64 {
        CrashNote.read(logDirectory: log.directory, of: log.identity, after: cursor).map { $0.events.lowerBound - 1 }
            ?? .max
    }

    /// The folder of the stage's dead-letter log; nil when no event was rejected or set aside.
    package var deadLetters: String? {
        let path = log.directory + ".dead-letters"
        return FileManager.default.fileExists(atPath: path + "/log.json") ? path : nil
    }
}

/// A pipeline file with the logs of its stages.
package struct RecordedPipeline: Sendable {
    package let file: PipelineFile
    /// The folder that holds the logs.
    package let folder: String
    /// Each stage comes after the stage that it reads from.
    package let stages: [RecordedStage]

    /// - Parameter chosen: The stages, each after the stage that it reads from; nil for all of them.
    /// - Throws: ``EventLogError/notALog(directory:)`` when a stage has no log.
    package init(_ file: PipelineFile, logs folder: String, stages chosen: [PipelineStage]? = nil) throws {
        self.file = file
        self.folder = folder
        stages = try (chosen ?? file.stagesInOrder).map { stage in
            let upstream = try file.upstream(of: stage).map {
                try EventLogs.summary(directory: folder + "/" + $0.logName)
            }
            let log = try EventLogs.summary(directory: folder + "/" + stage.logName)
            return RecordedStage(
                stage: stage, log: log, upstream: upstream,
                notedUpstream: try UpstreamNote.read(directory: log.directory)?.identity,
                setAside: upstream == nil ? [] : try SetAsideEvents.of(log: log.directory))
        }
    }

    package func stage(_ name: String) -> RecordedStage? { stages.first { $0.name == name } }

    package func consumers(of stage: RecordedStage) -> [RecordedStage] {
        stages.filter { $0.stage.from == stage.name }
    }
}
