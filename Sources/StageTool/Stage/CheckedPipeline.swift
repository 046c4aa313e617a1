import Glibc
import JSON
import JetStreamHome
import PipelineKit
import PipelineRuntime

/// A pipeline file whose stages were checked, or the pipeline recorded in a folder of logs.
package struct CheckedPipeline {
    package let path: String
    package let file: PipelineFile

    /// Checks nothing.
    ///
    /// - Parameter path: The path in messages: of the pipeline file, or of the folder of logs.
    package init(path: String, file: PipelineFile) { (self.path, self.file) = (path, file) }

    /// Checks every stage, as ``StageCheck`` does.
    ///
    /// - Parameter host: See ``ofThisHost(_:named:)``.
    /// - Throws: ``PipelineFileError`` with all mistakes that can be found independently.
    package init(_ text: PipelineText, host: String? = nil, checkingAllStagesWith registry: Registry) throws {
        path = text.path
        file = try CheckedPipeline.ofThisHost(
            try PipelineFile.parse(text, registry: registry, check: StageCheck(registry: registry).callAsFunction),
            named: host)
        try checkHome()
    }

    /// Checks only the stages whose kinds are in the registry: the kinds that this program can run.
    ///
    /// - Parameter host: See ``ofThisHost(_:named:)``.
    package init(_ text: PipelineText, host: String? = nil, checkingOnlyStagesOf registry: Registry) throws {
        let check = StageCheck(registry: registry)
        path = text.path
        file = try CheckedPipeline.ofThisHost(
            try PipelineFile.parse(text, registry: registry) { stage throws(PipelineFileError) in
                if registry.stages[stage.kind] != nil { try check(stage) }
            }, named: host)
        try checkHome()
    }

    /// The file as this host runs it; the file itself if it has no hosts, or if nothing names this host.
    ///
    /// - Parameter host: The name of this host; nil for the one that the environment names.
    /// - Throws: ``PipelineFileError`` if the file has no such host.
    package static func ofThisHost(
        _ file: PipelineFile, named host: String? = nil
    ) throws(PipelineFileError) -> PipelineFile {
        if let host { return try file.on(host) }
        guard !file.hosts.isEmpty, let name = getenv(hostVariable) else { return file }
        return try file.on(String(cString: name), from: hostVariable)
    }

    /// The environment variable with the name of this host.
    private static let hostVariable = "BELFRY_HOST"

    /// The pipeline for programs that run stages.
    ///
    /// - Throws: ``PipelineFileError`` if the file has hosts, and nothing named this host.
    package func onHost() throws(PipelineFileError) -> CheckedPipeline {
        file.host == nil ? CheckedPipeline(path: path, file: try file.on(nil)) : self
    }

    private func checkHome() throws {
        guard let home = file.log.home else { return }
        do { try JetStreamHome.check(home) } catch let error as SettingsError { throw PipelineFileError([error]) }
    }

    /// - Throws: ``ToolFailure`` if there is no stage of this name. The message lists the stages.
    package func stage(_ name: String) throws(ToolFailure) -> PipelineStage {
        if let stage = file.stage(named: name) { return stage }
        let lanes = file.stagesInOrder.filter { $0.nameInFile == name }
        if let first = lanes.first, let last = lanes.last {
            throw ToolFailure(
                .usage,
                "stage \(name) in \(path) runs in \(lanes.count) lanes: choose one, from \(first.name) to \(last.name)")
        }
        let names = file.stagesInOrder.map(\.name).joined(separator: ", ")
        throw ToolFailure(.usage, "there is no stage \(name) in \(path); its stages: \(names)")
    }

    /// The stage of a name; its copies in all lanes if the name is that in the file.
    ///
    /// - Throws: As ``stage(_:)``.
    package func stages(_ name: String) throws(ToolFailure) -> [PipelineStage] {
        let found = file.stages(named: name)
        return found.isEmpty ? [try stage(name)] : found
    }

    /// The only stage of a kind. Stages with a command, which run plugin programs, do not count.
    ///
    /// - Throws: ``ToolFailure`` if there is no such stage, or if there are several.
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
    /// Reads a file that was named on the command line.
    ///
    /// - Throws: ``ToolFailure`` with status 66 if the file is missing, a directory or not readable;
    ///   ``PipelineFileError`` if the file is too large, is not UTF-8, or begins with an ingest command.
    package init(argument path: String) throws {
        try PipelineArgument.check(path)
        try self.init(path: path)
        if beginsWithCommand {
            throw PipelineFileError([
                SettingsError(
                    file: path, reason: "begins with an ingest command, so it is not a pipeline file",
                    hint: "name the pipeline file first, then the files of commands")
            ])
        }
    }

    /// Whether the first line that is not blank is a JSON object with the key `type`. A pipeline file may be JSON, but
    /// has no such key.
    private var beginsWithCommand: Bool {
        guard let start = text.firstIndex(where: { !$0.isWhitespace }), text[start] == "{" else { return false }
        let line = Array(text[start...].prefix { !$0.isNewline }.utf8)
        var parser = JSONParser()
        return line.withUnsafeBytes { bytes in
            do throws(JSONError) { return try parser.parse(bytes)["type"] != nil } catch { return false }
        }
    }

    /// Reads the pipeline file for a process that keeps running. Symbolic links in the path of the file's folder are
    /// resolved now. If such a symbolic link is changed later, relative paths in the file still lead to the same logs.
    package init(forLongRunningProcess path: String) throws {
        let file = try PipelineText(argument: path)
        let real = realpath(file.folder, nil)
        defer { free(real) }
        self.init(path: path, folder: real.map { String(cString: $0) } ?? file.folder, text: file.text)
    }
}
