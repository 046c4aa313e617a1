import BuiltIns
import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import StageTool

/// A pipeline beside the logs that it made, by what a user has at hand: its file, or the logs alone.
package struct RecordedPlace {
    package let checked: CheckedPipeline
    package let recorded: RecordedPipeline

    /// Says on standard error of which stages' past the settings are not known.
    ///
    /// - Parameters:
    ///   - place: A pipeline file, a data folder or a folder of logs.
    ///   - logs: Where the logs are instead.
    package init(_ place: String, logs: String?) throws {
        if LogPlace.isFolder(place) {
            try AbsentLogs.check(place)
            let folder = try LogPlace.folder(place)
            checked = CheckedPipeline(path: place, file: try RecordedFolder(folder).pipeline())
        } else {
            checked = try CheckedPipeline(path: place)
        }
        recorded = try RecordedPipeline.find(checked, logs: logs)
        for stage in try recorded.stagesWithoutSettings {
            StandardError.write(
                "\(stage.log.directory)/settings.ndjson is not there: the settings that \(place) has now are taken for all "
                    + "of \(stage.name)'s past\(RecordedPlace.earlierDefaults(of: stage.stage))")
        }
    }

    /// What counts where the pipeline file is silent: a log without settings is from before they were kept.
    private static func earlierDefaults(of stage: PipelineStage) -> String {
        let silent = Registry.builtIns.changedDefaults(of: stage).filter { !stage.settings.contains($0.key) }
        guard !silent.isEmpty else { return "" }
        return ", with the defaults of that time: "
            + silent.map { "\($0.key) \($0.before)" }.joined(separator: ", ")
    }
}
