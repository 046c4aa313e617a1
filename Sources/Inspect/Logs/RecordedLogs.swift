import BuiltIns
import EventLog
import Events
import JSON
import PipelineKit
import StageTool

/// A pipeline's logs with the stages that wrote them.
package struct RecordedLogs {
    package let folder: String
    let file: PipelineFile
    /// Whether `file` was given, and not derived from a folder of logs.
    package let isFileGiven: Bool
    /// The stages from the source to a stage whose log no other stage reads, in order. The last stage is a stage that
    /// delivers, if possible. Stages of other branches and other lanes are left out.
    package let stages: [PipelineStage]
    private static let firstLane = 0

    /// - Parameter logs: The folder of the logs, if it differs from the folder of `place`. See ``LogPlace``.
    package init(place: String, logs: String? = nil) throws {
        folder = try LogPlace.folder(logs ?? place)
        isFileGiven = LogPlace.isFile(place)
        file = try isFileGiven ? CheckedPipeline(path: place).file : RecordedLogs.recorded(in: folder)
        stages = RecordedLogs.stages(of: file, lane: RecordedLogs.firstLane)
        try AbsentLogs.check(logs ?? place)
        let changes = folder + "/" + (stages.first?.logName ?? LogKind.changes.rawValue)
        guard LogPlace.isLog(changes) else {
            let hint =
                isFileGiven
                ? "the pipeline has not run yet (belfry up \(place)), or its logs are elsewhere"
                : "name the pipeline file (with -p or --pipeline if the command has this option)"
            throw ToolFailure(.noInput, "there is no log of changes in \(folder); \(hint)")
        }
    }

    init(file: PipelineFile, folder: String) {
        self.init(file, folder, isFileGiven: true, lane: RecordedLogs.firstLane)
    }

    private init(_ file: PipelineFile, _ folder: String, isFileGiven: Bool, lane: Int) {
        (self.file, self.folder, self.isFileGiven) = (file, folder, isFileGiven)
        stages = RecordedLogs.stages(of: file, lane: lane)
    }

    /// The logs with the stages of the lane that everything of a user is in.
    func inLane(of user: ExactText, for change: ExplainedChange) throws -> RecordedLogs {
        let (container, environment) = try change.event.withJSON { json in
            (json[.container]?.string ?? "", json[.environment]?.string ?? "")
        }
        return inLane(
            Lane.number(container: container, environment: environment, user: user.string, file.lanes))
    }

    /// The logs with the stages of the lane that a log belongs to.
    func inLane(ofLog name: String) -> RecordedLogs {
        inLane(file.stages.first { $0.logName == name }?.lane?.number ?? RecordedLogs.firstLane)
    }

    /// For runs of the pipeline: with one row of stages in place of all lanes.
    var withoutLanes: RecordedLogs {
        RecordedLogs(file.withoutLanes, folder, isFileGiven: isFileGiven, lane: RecordedLogs.firstLane)
    }

    private func inLane(_ lane: Int) -> RecordedLogs {
        RecordedLogs(file, folder, isFileGiven: isFileGiven, lane: lane)
    }

    package func log(of stage: PipelineStage) -> String { folder + "/" + stage.logName }

    /// The folder of a log; nil if none of the ``stages`` writes such a log, or if the log does not exist.
    func existingLog(_ log: LogKind) -> String? { stage(writing: log).flatMap(existingLog) }

    /// The folder of a stage's log; nil if the log does not exist, as when the stage never ran.
    func existingLog(of stage: PipelineStage) -> String? {
        LogPlace.isLog(log(of: stage)) ? log(of: stage) : nil
    }

    /// Whether the first changes are gone. Then the log of changes may lack registrations and subscriptions that were
    /// in force.
    func lacksFirstChanges() throws -> Bool { try EventLogs.summary(directory: log(of: stages[0])).firstSequence > 1 }

    func stage(writing log: LogKind) -> PipelineStage? { stages.first { $0.writes == log } }

    /// The plugins among the stages between the source and the stage that writes a log: the stages with a `command`,
    /// and the stages that write none of Belfry's logs. Such a stage may drop or change any event.
    func plugins(before log: LogKind) -> [PipelineStage] {
        stages.prefix { $0.writes != log }.dropFirst().filter { $0.writes == nil || !$0.command.isEmpty }
    }

    /// A sequence in a stage's upstream log. No later event in this log comes from the change. So a stage that has
    /// processed this sequence is done with the change. For a stage that reads the log of changes, this is the change's
    /// own sequence. Nil if an earlier stage has not processed the change.
    ///
    /// Do not use this for a stage after coalesce: coalesce may pass on a notification long after it processed the
    /// change's matches.
    func lastInput(of stage: PipelineStage, from change: ExplainedChange) throws -> UInt64? {
        var sequence = change.sequence
        for earlier in stages.prefix(while: { $0.name != stage.name }).dropFirst() {
            let batch = try existingLog(of: earlier).flatMap {
                try LogScan.batch(in: $0, from: change.event.now, reaching: sequence)
            }
            guard let batch else { return nil }
            sequence = batch.lastSequence
        }
        return sequence
    }

    func context(of stage: PipelineStage) throws -> StageContext {
        let own = try EventLogs.summary(directory: log(of: stage)).identity
        let upstream = file.upstream(of: stage) ?? stage
        let summary = try EventLogs.summary(directory: log(of: upstream))
        return StageContext(
            log: own, upstream: summary.identity, upstreamName: summary.name, registry: .builtIns)
    }

    /// See ``stages``.
    private static func stages(of file: PipelineFile, lane: Int) -> [PipelineStage] {
        let ends = file.stagesInOrder.filter { stage in
            file.downstream(of: stage).isEmpty && (stage.lane.map { $0.number == lane } ?? true)
        }
        var stages: [PipelineStage] = []
        var next = ends.first { $0.writes == .outcomes } ?? ends.first
        while let stage = next {
            stages.insert(stage, at: 0)
            next = file.upstream(of: stage)
        }
        return stages
    }

    /// The logs of the built-in stages, in order: each log is made from the one before.
    package static let standardNames = LogKind.allCases.map(\.rawValue)

    /// The pipeline that wrote the logs, with its newest recorded settings. If it cannot be reconstructed, for whatever
    /// reason, returns the pipeline of the built-in stages.
    static func recorded(in folder: String) throws -> PipelineFile {
        do { return try RecordedFolder(folder).pipeline(isCompleted: true) } catch {
            return try RecordedFolder.standardPipeline()
        }
    }
}
