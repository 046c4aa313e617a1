import Inspect
import PipelineKit
import ZeroMQ

/// One check of `belfry doctor`. To add a check, add a type and a line in ``PipelineDoctorCommand/checks``.
protocol DoctorCheck: Sendable {
    /// The name of the check, in one word.
    var name: String { get }

    /// What the check found: a single ``Finding/Severity/ok`` if all is well, nothing if there is nothing to check.
    ///
    /// - Throws: An error that prevents the check. It is reported as a finding.
    func findings(in target: DoctorTarget) async throws -> [Finding]
}

/// The pipeline file or folder that is checked.
struct DoctorTarget: Sendable {
    /// The path that the user gave.
    let place: String
    /// The folder of the logs, if they are elsewhere.
    let logs: String?
    /// Nil for a folder, and for an invalid file.
    let file: PipelineFile?

    /// The doctor's own keys; nil to use the stages' keys.
    let keys: CurveKeyPair?

    /// - Throws: ``ToolFailure`` with 66 if the place does not exist.
    init(_ place: String, logs: String?, keys: CurveKeyPair? = nil) throws {
        (self.place, self.logs, self.keys) = (place, logs, keys)
        guard !LogPlace.isFolder(place) else {
            file = nil
            return
        }
        try PipelineArgument.check(place)
        // FileCheck reports the mistakes of an invalid file; the other checks do what they can.
        do { file = try PipelineFile.load(path: place, registry: .builtIns) } catch { file = nil }
    }

    var isFolder: Bool { LogPlace.isFolder(place) }

    /// The place of the logs; nil if the file is invalid.
    var logPlace: String? { logs ?? (isFolder || file != nil ? place : nil) }

    /// The folder that contains the logs and snapshots.
    var data: String? { logs ?? (isFolder ? place : file?.data) }
}
