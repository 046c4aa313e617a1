import BuiltIns
import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import StageTool

/// A pipeline with its logs, found by its file or by the logs alone.
package struct RecordedPlace {
    package let checked: CheckedPipeline
    package let recorded: RecordedPipeline

    /// Reports on standard error which stages have no recorded settings.
    ///
    /// - Parameter onlyOfHost: Whether to leave out the stages that this host does not run, or whose input it does not
    ///   have.
    package init(_ place: String, logs: String?, onlyOfHost: Bool = false) throws {
        if LogPlace.isFolder(place) {
            try AbsentLogs.check(place)
            let folder = try LogPlace.folder(place)
            checked = CheckedPipeline(path: place, file: try RecordedFolder(folder).pipeline())
        } else {
            checked = try CheckedPipeline(path: place)
        }
        recorded = try RecordedPlace.recorded(
            checked, logs: logs, onlyOfHost ? checked.file.stagesOfHostWithInput : nil)
        for stage in try recorded.stagesWithoutSettings {
            StandardError.write(
                "\(stage.log.directory)/settings.ndjson is missing: the current settings of \(place) are used for the whole "
                    + "log of \(stage.name)\(RecordedPlace.earlierDefaults(of: stage.stage))")
        }
    }

    private static func recorded(
        _ checked: CheckedPipeline, logs: String?, _ stages: [PipelineStage]?
    ) throws -> RecordedPipeline {
        let place = logs ?? checked.path
        let folder = try LogPlace.folder(place)
        do { return try RecordedPipeline(checked.file, logs: folder, stages: stages) } catch EventLogError.notALog(
            let directory)
        {
            guard try !LogPlace.logs(in: place).isEmpty else {
                throw ToolFailure(.noInput, try LogPlace.noLogsMessage(in: place))
            }
            throw ToolFailure(
                .noInput,
                "log \(LogPlace.name(ofLogAt: directory)) of \(checked.path) is missing: there is no \(directory); "
                    + "restore it from a copy, or start its stage if it never ran")
        }
    }

    /// A log without recorded settings counts as written by an early version, whose defaults apply.
    private static func earlierDefaults(of stage: PipelineStage) -> String {
        let unset = Registry.builtIns.changedDefaults(of: stage).filter { !stage.settings.contains($0.key) }
        guard !unset.isEmpty else { return "" }
        return ", with the defaults of the version that wrote it: "
            + unset.map { "\($0.key) \($0.before)" }.joined(separator: ", ")
    }
}
