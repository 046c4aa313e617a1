import BuiltIns
import PipelineKit
import PipelineRuntime
import ZeroMQ

extension CheckedPipeline {
    /// Checks the CURVE keys of all stages.
    ///
    /// - Parameter needsSecrets: Whether an unreadable secret key is a mistake; false for a machine that does not run
    ///   all stages.
    /// - Throws: ``PipelineFileError`` with the mistakes of all stages.
    func checkKeys(needsSecrets: Bool = true) throws {
        let surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        let standIn = try CurveKeyPair.generate()
        try file.forEachStage { [file] stage throws(PipelineFileError) in
            var surroundings = surroundings
            if !needsSecrets, stage.curve?.secretKey.isReadable == false { surroundings.toolKeys = standIn }
            do {
                _ = try StageHost(stage, of: file, in: surroundings)
            } catch {
                throw CheckedPipeline.fileError(explaining: error, of: stage, in: path)
            }
        }
    }

    private static func fileError(
        explaining error: any Error, of stage: PipelineStage, in path: String
    ) -> PipelineFileError {
        switch error {
        case let error as PipelineFileError: error
        case let error as SettingsError: PipelineFileError([error])
        default: PipelineFileError([SettingsError(file: path, keyPath: "stages.\(stage.name)", reason: "\(error)")])
        }
    }
}
