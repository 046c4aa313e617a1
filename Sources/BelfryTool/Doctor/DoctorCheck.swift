import Inspect
import PipelineKit
import ZeroMQ

/// Something about a pipeline that may be wrong. A new check is a type, and a line in ``PipelineDoctorCommand/checks``.
protocol DoctorCheck: Sendable {
    /// One word.
    var name: String { get }

    /// What it found; one finding that is ``Finding/Severity/ok`` where all is well, nothing where there is nothing to
    /// check.
    ///
    /// - Throws: What keeps the check from being made, which is a finding too.
    func findings(in patient: Patient) async throws -> [Finding]
}

/// What is looked at: a pipeline's file or what it left behind.
struct Patient: Sendable {
    /// As the user named it.
    let place: String
    /// Where the logs are instead.
    let logs: String?
    /// Nil for a folder, and for a file that does not read.
    let file: PipelineFile?

    /// The doctor's own keys; nil: those of the stages.
    let keys: CurveKeyPair?

    /// - Throws: ``ToolFailure`` with 66 where there is nothing.
    init(_ place: String, logs: String?, keys: CurveKeyPair? = nil) throws {
        (self.place, self.logs, self.keys) = (place, logs, keys)
        guard !LogPlace.isFolder(place) else {
            file = nil
            return
        }
        try PipelineArgument.check(place)
        // The stages' settings are checked by themselves, and the rest can be looked at without them.
        do { file = try PipelineFile.load(path: place, registry: .builtIns) } catch { file = nil }
    }

    var isFolder: Bool { LogPlace.isFolder(place) }

    /// A place that logs are found in; nil where a broken file does not tell.
    var logPlace: String? { logs ?? (isFolder || file != nil ? place : nil) }

    /// The folder that logs and snapshots are written below.
    var data: String? { logs ?? (isFolder ? place : file?.data) }
}
