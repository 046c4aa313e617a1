import EventLog

/// A pipeline: its stages, how they are linked, and where their logs are.
///
/// Reading a file checks the settings of the pipeline as a whole, the settings that all stages have, and the rules
/// between stages. Each stage's type checks the stage's own settings when it decodes them.
package struct PipelineFile: Sendable {
    /// The pipeline's name.
    package let name: String
    /// The data folder, which contains the logs.
    package internal(set) var data: String
    /// The mode of the data folder and its contents.
    package let dataMode: DataMode
    /// The logs' identities are derived from this seed. Nil if new identities are random.
    package internal(set) var seed: String?
    /// How the logs are written and how long they are kept.
    package internal(set) var log: LogSettings
    /// The stages, in the order of the file; those of a lane beside each other.
    package internal(set) var stages: [PipelineStage]
    /// How many lanes share the work behind the log of changes. 1 if the pipeline has no lanes.
    package internal(set) var lanes: Int
    /// The stages as the file has them, without lanes.
    var stagesInFile: [PipelineStage]
    /// The settings of the gateway for CloudKit Web Services; nil if the pipeline has no gateway. The gateway checks
    /// the settings when it decodes them.
    package let api: SettingsReader?
    /// The machines that may run the stages; empty for one machine that the file does not name.
    package internal(set) var hosts: [HostSettings]
    /// The machine of this process; nil if the file names none, or if this value was not made for one: see ``on(_:)``.
    package internal(set) var host: HostSettings?
    /// All settings of the file, for errors that name a place in the file.
    package let settings: SettingsReader

    /// The stage that reads from no other stage.
    package var sourceStage: PipelineStage {
        guard let source = stages.first(where: { $0.from == nil }) else {
            preconditionFailure("a pipeline without a source")
        }
        return source
    }

    /// Reads and checks a file. Relative paths in the file are resolved against its folder, except the program and the
    /// arguments of a `command`.
    ///
    /// - Parameters:
    ///   - registry: The known stages. A stage's kind determines the default name of its log.
    ///   - check: Further rules for a stage. The errors that it throws are reported together with the file's own.
    /// - Throws: All mistakes that these checks and `check` find. One error if the file cannot be read or is not valid
    ///   YAML.
    package static func load(
        path: String, registry: Registry, check: (PipelineStage) throws(PipelineFileError) -> Void = { _ in }
    ) throws(PipelineFileError) -> PipelineFile {
        try parse(try PipelineText(path: path), registry: registry, check: check)
    }

    /// Checks a text as ``load(path:registry:check:)`` does.
    package static func parse(
        _ text: PipelineText, registry: Registry, check: (PipelineStage) throws(PipelineFileError) -> Void = { _ in }
    ) throws(PipelineFileError) -> PipelineFile {
        try parse(text.text, file: text.path, folder: text.folder, registry: registry, check: check)
    }

    /// Checks a text as ``load(path:registry:check:)`` does.
    ///
    /// - Parameters:
    ///   - file: The file name in errors.
    ///   - folder: The folder against which relative paths are resolved; nil for the file's folder.
    package static func parse(
        _ text: String, file: String, folder: String? = nil, registry: Registry,
        check: (PipelineStage) throws(PipelineFileError) -> Void = { _ in }
    ) throws(PipelineFileError) -> PipelineFile {
        var errors: [SettingsError] = []
        let reader = try SettingsReader(text: text, file: file, folder: folder, errors: &errors)
        var draft = PipelineDraft(reader, errors: errors)
        return try draft.pipeline(registry, check: check)
    }
}

extension PipelineFile {
    /// The stage of that name; nil if no stage has the name.
    package func stage(named name: String) -> PipelineStage? {
        stages.first { $0.name == name }
    }

    /// The stage of that name; its copies in all lanes if the name is that in the file.
    package func stages(named name: String) -> [PipelineStage] {
        stages.filter { $0.name == name || $0.nameInFile == name }
    }

    /// The stage that `stage` reads from; nil for the source.
    package func upstream(of stage: PipelineStage) -> PipelineStage? {
        stage.from.flatMap(self.stage(named:))
    }

    /// The stages that read from `stage`, in the order of the file.
    package func downstream(of stage: PipelineStage) -> [PipelineStage] {
        stages.filter { $0.from == stage.name }
    }

    /// The name under which the gateway reads the source's log.
    package static let gatewayName = "api"

    /// The names of the pipeline's own readers of the log of `stage`: its downstream stages, and for the source also
    /// the gateway, if the pipeline has one.
    package func consumers(of stage: PipelineStage) -> [String] {
        downstream(of: stage).map(\.name) + (api != nil && stage.from == nil ? [PipelineFile.gatewayName] : [])
    }

    /// All stages, each after its upstream: the source, then the stages that read from the source, then the stages that
    /// read from these stages, and so on.
    package var stagesInOrder: [PipelineStage] {
        var ordered = [sourceStage]
        var next = ordered.startIndex
        while next < ordered.endIndex {
            ordered += downstream(of: ordered[next])
            next += 1
        }
        return ordered
    }

    /// Runs a check on every stage, and throws the errors of all stages together.
    package func forEachStage(
        _ check: (PipelineStage) throws(PipelineFileError) -> Void
    ) throws(PipelineFileError) {
        var errors: [SettingsError] = []
        for stage in stages {
            do {
                try check(stage)
            } catch {
                errors += error.errors
            }
        }
        guard errors.isEmpty else { throw PipelineFileError(errors) }
    }
}
