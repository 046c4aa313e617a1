import EventLog
import Replay
import StageTool

extension RecordedPipeline {
    /// - Parameter logs: A folder of logs or a data folder; nil: the pipeline's own.
    /// - Throws: ``ToolFailure`` with 66 where a stage has no log; ``EventLogError``.
    static func find(_ checked: CheckedPipeline, logs: String?) throws -> RecordedPipeline {
        let place = logs ?? checked.path
        let folder = try LogPlace.folder(place)
        do { return try RecordedPipeline(checked.file, logs: folder) } catch EventLogError.notALog(let directory) {
            guard try !LogPlace.logs(in: place).isEmpty else {
                throw ToolFailure(.noInput, try LogPlace.nothing(in: place))
            }
            throw ToolFailure(
                .noInput,
                "log \(LogPlace.name(ofLogAt: directory)) of \(checked.path) is missing: there is no \(directory); "
                    + "restore it from a copy, or start its stage if it never ran")
        }
    }
}
