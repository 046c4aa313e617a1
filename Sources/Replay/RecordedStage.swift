import EventLog
import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A stage of a pipeline beside the logs that it made and read.
package struct RecordedStage: Sendable {
    package let stage: PipelineStage
    package let log: LogSummary
    /// Nil for a source.
    package let upstream: LogSummary?

    package var name: String { stage.name }
    package var isSource: Bool { upstream == nil }

    /// Which upstream log the stage noted when it first read it; nil where it noted none.
    package let notedUpstream: LogIdentity?

    /// The events of its input that it never got, since it crashed on them, in their order.
    package let setAside: [UInt64]

    /// What the stage knew of where it stood.
    package var context: StageContext {
        let upstream = upstream ?? log
        return StageContext(log: log.identity, upstream: upstream.identity, upstreamName: upstream.name)
    }

    /// The events of its input, from one on.
    func feed(from first: UInt64) throws(EventLogError) -> UpstreamFeed {
        try UpstreamFeed(log: (upstream ?? log).directory, from: first, leavingOut: setAside)
    }

    /// The last event of its input that it may be fed behind the end of its log: not the one that its process may just
    /// have crashed on.
    func lastHarmless(after cursor: UInt64) -> UInt64 {
        CrashNote.read(logDirectory: log.directory, of: log.identity, after: cursor).map { $0.events.lowerBound - 1 }
            ?? .max
    }

    /// The folder of the log that keeps what the stage rejected; nil where it rejected nothing.
    package var deadLetters: String? {
        let path = log.directory + ".dead-letters"
        return FileManager.default.fileExists(atPath: path + "/log.json") ? path : nil
    }
}

/// The logs of a pipeline, stage by stage.
package struct RecordedPipeline: Sendable {
    package let file: PipelineFile
    /// The folder that holds the logs.
    package let folder: String
    /// Each after the one it reads.
    package let stages: [RecordedStage]

    /// - Throws: ``EventLogError/notALog(directory:)`` for a stage without a log.
    package init(_ file: PipelineFile, logs folder: String) throws {
        self.file = file
        self.folder = folder
        stages = try file.stagesInOrder.map { stage in
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
