import EventLog

/// A pipeline: its stages, how they are linked, and where their logs are.
///
/// Reading a file checks everything that can be checked without starting anything, except the stages' own settings. A stage's
/// type checks them when it decodes them.
package struct PipelineFile: Sendable {
    /// The pipeline's name.
    package let name: String
    /// The folder of its logs.
    package internal(set) var data: String
    /// The mode of the folder and its contents.
    package let dataMode: DataMode
    /// The logs' identities are derived from this seed; nil to draw them at random.
    package internal(set) var seed: String?
    /// How the stages keep their logs.
    package internal(set) var log: LogSettings
    /// The stages, in the order of the file.
    package internal(set) var stages: [PipelineStage]
    /// The settings of the gateway for CloudKit Web Services; nil without one. The gateway checks them when it decodes them.
    package let api: SettingsReader?

    /// The stage that reads from no other.
    package var sourceStage: PipelineStage {
        guard let source = stages.first(where: { $0.from == nil }) else {
            preconditionFailure("a pipeline without a source")
        }
        return source
    }

    /// Reads and checks a file. Paths in it become absolute.
    ///
    /// - Parameters:
    ///   - registry: The known stages, which have default names for their logs.
    ///   - check: Further rules for a stage. The errors that it throws are reported together with the file's own.
    /// - Throws: All mistakes in the file.
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
    ///   - folder: The folder that relative paths begin in; nil for the file's folder.
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
    /// The stage of that name; nil if there is none.
    package func stage(named name: String) -> PipelineStage? {
        stages.first { $0.name == name }
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

    /// The names of those that read the log of `stage`: stages, and the gateway.
    package func consumers(of stage: PipelineStage) -> [String] {
        downstream(of: stage).map(\.name) + (api != nil && stage.from == nil ? [PipelineFile.gatewayName] : [])
    }

    /// All stages, each after its upstream. Sorted by distance from the source, then in the order of the file.
    package var stagesInOrder: [PipelineStage] {
        var ordered = [sourceStage]
        var next = ordered.startIndex
        while next < ordered.endIndex {
            ordered += downstream(of: ordered[next])
            next += 1
        }
        return ordered
    }

    /// Runs a check on every stage, and throws the errors of all.
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
