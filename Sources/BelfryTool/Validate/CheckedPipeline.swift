import BuiltIns
import PipelineKit
import PipelineRuntime

/// A pipeline file whose every stage's settings are right.
struct CheckedPipeline {
    let path: String
    let file: PipelineFile

    /// - Parameter path: What messages call it.
    init(path: String, file: PipelineFile) { (self.path, self.file) = (path, file) }

    /// - Throws: ``ToolFailure`` with 66 where there is no file; ``PipelineFileError`` with everything wrong with it.
    init(path: String) throws {
        try PipelineArgument.check(path)
        self.path = path
        file = try PipelineFile.load(path: path, check: StageCheck(registry: .builtIns).callAsFunction)
    }

    /// Checks the keys that links are encrypted with. Only for who runs all stages: a machine that runs one of them
    /// need not have the others' secrets.
    ///
    /// - Throws: ``PipelineFileError`` with every stage's mistakes.
    func checkKeys() throws {
        let surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        try file.forEachStage { [file] stage throws(PipelineFileError) in
            do {
                _ = try StageHost(stage, of: file, in: surroundings)
            } catch {
                throw CheckedPipeline.collected(error, stage, path)
            }
        }
    }

    private static func collected(_ error: any Error, _ stage: PipelineStage, _ path: String) -> PipelineFileError {
        switch error {
        case let error as PipelineFileError: error
        case let error as SettingsError: PipelineFileError([error])
        default: PipelineFileError([SettingsError(file: path, keyPath: "stages.\(stage.name)", reason: "\(error)")])
        }
    }

    /// - Throws: ``ToolFailure`` with the names there are.
    func stage(_ name: String) throws(ToolFailure) -> PipelineStage {
        if let stage = file.stage(named: name) { return stage }
        let names = file.stagesInOrder.map(\.name).joined(separator: ", ")
        throw ToolFailure(.usage, "there is no stage \(name) in \(path); its stages: \(names)")
    }

    /// The one stage of a kind that runs in a program of ours.
    func stage(ofKind kind: String) throws(ToolFailure) -> PipelineStage {
        let stages = file.stagesInOrder.filter { $0.kind == kind && $0.command.isEmpty }
        guard let first = stages.first else {
            throw ToolFailure(.configuration, "\(path) has no stage of kind \(kind)")
        }
        guard stages.count == 1 else {
            let names = stages.map(\.name).joined(separator: ", ")
            throw ToolFailure(.usage, "\(path) has several stages of kind \(kind): choose one with --stage (\(names))")
        }
        return first
    }
}
