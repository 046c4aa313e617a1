import BuiltIns
import EventLog
import Events
import Foundation
import JSON
import PipelineKit
import StageTool

/// The logs of a pipeline by what the stages that wrote them do.
package struct RecordedLogs {
    package let folder: String
    let file: PipelineFile
    /// Whether `file` is the pipeline's own, and not a guess from a folder of logs.
    package let isOwn: Bool
    /// The stages that a change goes through, the source first.
    package let path: [PipelineStage]

    /// - Parameters:
    ///   - place: What ``LogPlace`` takes.
    ///   - logs: Where the logs are instead.
    package init(place: String, logs: String? = nil) throws {
        folder = try LogPlace.folder(logs ?? place)
        var isDirectory: ObjCBool = false
        isOwn = FileManager.default.fileExists(atPath: place, isDirectory: &isDirectory) && !isDirectory.boolValue
        file = try isOwn ? CheckedPipeline(path: place).file : RecordedLogs.recorded(in: folder)
        path = RecordedLogs.path(of: file)
        try AbsentLogs.check(logs ?? place)
        let changes = folder + "/" + (path.first?.logName ?? LogKind.changes.rawValue)
        guard FileManager.default.fileExists(atPath: changes + "/log.json") else {
            throw ToolFailure(.noInput, "there is no log of changes in \(folder); \(hint(place))")
        }
    }

    private func hint(_ place: String) -> String {
        isOwn
            ? "the pipeline has not run yet (belfry up \(place)), or its logs lie elsewhere"
            : "name the pipeline's file (with -p or --pipeline where the command has that)"
    }

    /// - Parameter folder: The folder that holds the logs of the pipeline.
    init(file: PipelineFile, folder: String) {
        (self.file, self.folder, isOwn) = (file, folder, true)
        path = RecordedLogs.path(of: file)
    }

    package func log(of stage: PipelineStage) -> String { folder + "/" + stage.logName }

    /// Nil where the pipeline has no such stage, or the stage never ran.
    func existingLog(_ log: LogKind) -> String? { stage(writing: log).flatMap(existingLog) }

    /// Nil where the stage never ran.
    func existingLog(of stage: PipelineStage) -> String? {
        FileManager.default.fileExists(atPath: log(of: stage) + "/log.json") ? log(of: stage) : nil
    }

    func stage(writing log: LogKind) -> PipelineStage? { path.first { $0.writes == log } }

    /// What the stage knew of where it stood.
    func context(of stage: PipelineStage) throws -> StageContext {
        let own = try EventLogs.summary(directory: log(of: stage)).identity
        let upstream = file.upstream(of: stage) ?? stage
        let summary = try EventLogs.summary(directory: log(of: upstream))
        return StageContext(
            log: own, upstream: summary.identity, upstreamName: summary.name, registry: .builtIns)
    }

    /// From the last stage that delivers back to the source.
    private static func path(of file: PipelineFile) -> [PipelineStage] {
        let ends = file.stagesInOrder.filter { file.downstream(of: $0).isEmpty }
        var path: [PipelineStage] = []
        var next = ends.first { $0.writes == .outcomes } ?? ends.first
        while let stage = next {
            path.insert(stage, at: 0)
            next = file.upstream(of: stage)
        }
        return path
    }

    /// The logs of the built-in stages, in the order in which they are made from each other.
    package static let standardNames = LogKind.allCases.map(\.rawValue)

    /// The pipeline that the logs tell of, with the settings that it had last; the built-in stages where they do not say
    /// enough.
    static func recorded(in folder: String) throws -> PipelineFile {
        do { return try RecordedFolder(folder).pipeline(isCompleted: true) } catch {
            return try RecordedFolder.standardPipeline()
        }
    }
}
