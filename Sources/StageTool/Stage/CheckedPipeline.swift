import Glibc
import PipelineKit
import PipelineRuntime

/// A pipeline file whose stages' settings are right.
package struct CheckedPipeline {
    package let path: String
    package let file: PipelineFile

    /// - Parameter path: What messages call it.
    package init(path: String, file: PipelineFile) { (self.path, self.file) = (path, file) }

    /// Checks the settings of every stage.
    ///
    /// - Throws: ``PipelineFileError`` with everything wrong with it.
    package init(_ text: PipelineText, all registry: Registry) throws {
        path = text.path
        file = try PipelineFile.parse(text, registry: registry, check: StageCheck(registry: registry).callAsFunction)
    }

    /// Checks the settings of the stages that a program has; those of the others are for theirs to check.
    package init(_ text: PipelineText, of registry: Registry) throws {
        let check = StageCheck(registry: registry)
        path = text.path
        file = try PipelineFile.parse(text, registry: registry) { stage throws(PipelineFileError) in
            if registry.stages[stage.kind] != nil { try check(stage) }
        }
    }

    /// - Throws: ``ToolFailure`` with the names there are.
    package func stage(_ name: String) throws(ToolFailure) -> PipelineStage {
        if let stage = file.stage(named: name) { return stage }
        let names = file.stagesInOrder.map(\.name).joined(separator: ", ")
        throw ToolFailure(.usage, "there is no stage \(name) in \(path); its stages: \(names)")
    }

    /// The one stage of a kind that runs in a program of ours.
    package func stage(ofKind kind: String) throws(ToolFailure) -> PipelineStage {
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

extension PipelineText {
    /// Reads the file that was named on a command line.
    ///
    /// - Throws: ``ToolFailure`` with 66 where there is no file; ``PipelineFileError`` where it is no text.
    package init(argument path: String) throws {
        try PipelineArgument.check(path)
        try self.init(path: path)
    }

    /// The same for a process that runs from it: relative paths begin where the file's folder is now, wherever a link that
    /// leads there points later. No stage comes to another log by that.
    package init(running path: String) throws {
        let file = try PipelineText(argument: path)
        let real = realpath(file.folder, nil)
        defer { free(real) }
        self.init(path: path, folder: real.map { String(cString: $0) } ?? file.folder, text: file.text)
    }
}
