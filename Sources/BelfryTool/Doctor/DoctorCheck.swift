import Inspect
import PipelineKit
import StageTool
import ZeroMQ

/// One check of `belfry doctor`. To add a check, add a type and a line in ``PipelineDoctorCommand/checks``.
protocol DoctorCheck: Sendable {
    /// The name of the check, in one word.
    var name: String { get }

    /// Checks the target. If the check finds no problem, returns a finding of severity ``Finding/Severity/ok``, or an
    /// empty list. If the target has nothing that the check looks at, returns an empty list, or a note that says what
    /// is absent.
    ///
    /// - Throws: An error that prevents the check. The doctor reports the error as a finding.
    func findings(in target: DoctorTarget) async throws -> [Finding]
}

/// The pipeline file or folder that is checked.
struct DoctorTarget: Sendable {
    /// The path that the user gave.
    let path: String
    /// The folder that the user gave with `--logs`. If nil, ``path`` is a folder with logs, or a pipeline file whose
    /// logs are checked.
    let logs: String?
    /// The pipeline file; nil if the target is a folder, or if the file is invalid.
    let file: PipelineFile?

    /// The doctor's own keys; nil to use the stages' keys.
    let keys: CurveKeyPair?

    /// - Throws: ``ToolFailure`` with status 66 if the path does not exist or cannot be read.
    init(_ path: String, logs: String?, keys: CurveKeyPair? = nil) throws {
        (self.path, self.logs, self.keys) = (path, logs, keys)
        guard !LogPlace.isFolder(path) else {
            file = nil
            return
        }
        try PipelineArgument.check(path)
        // FileCheck reports the mistakes of an invalid file; the other checks do what they can.
        do { file = try LogPlace.pipeline(path) } catch { file = nil }
    }

    var isFolder: Bool { LogPlace.isFolder(path) }

    /// The folder or the pipeline file by which ``LogPlace`` finds the logs; nil if the file is invalid and `logs` is
    /// nil.
    var logsPath: String? { logs ?? (isFolder || file != nil ? path : nil) }

    /// The folder that contains the logs and snapshots; nil if the file is invalid and `logs` is nil.
    var data: String? { logs ?? (isFolder ? path : file?.data) }
}
