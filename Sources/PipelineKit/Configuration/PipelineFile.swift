import EventLog

/// A pipeline: its stages, how they are linked, and where their logs are.
///
/// Reading one checks everything that can be known without starting anything. The stages' own settings are
/// checked when their types decode them.
package struct PipelineFile: Sendable {
    /// What the file calls the pipeline.
    package let name: String
    /// The folder of its logs.
    package let data: String
    /// Who may use what is in it.
    package let dataMode: DataMode
    /// When present, log identities are derived from it instead of drawn.
    package let seed: String?
    /// How the stages of the pipeline keep their logs.
    package let log: LogSettings
    /// In the order of the file.
    package let stages: [PipelineStage]
    /// The stage that reads from no other.
    package let sourceStage: PipelineStage

    /// Reads and checks a file. Paths in it become absolute.
    ///
    /// - Parameters:
    ///   - registry: The known stages, which give logs their standard names.
    ///   - check: What a stage must fulfil beside the file's own rules; its errors are reported with theirs.
    /// - Throws: Everything that is wrong with it.
    package static func load(
        path: String, registry: Registry, check: (PipelineStage) throws(PipelineFileError) -> Void = { _ in }
    ) throws(PipelineFileError) -> PipelineFile {
        try parse(try PipelineText(path: path), registry: registry, check: check)
    }

    /// Reads and checks a text.
    ///
    /// - Parameters:
    ///   - file: What errors call the text.
    ///   - folder: Where relative paths begin; the file's folder if nil.
    ///   - registry: The known stages, which give logs their standard names.
    ///   - check: What a stage must fulfil beside the file's own rules; its errors are reported with theirs.
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
    /// Nil where the file has no stage of that name.
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

    /// Every stage after the one it reads from; otherwise by distance from the source, then as in the file.
    package var stagesInOrder: [PipelineStage] {
        var ordered = [sourceStage]
        var next = ordered.startIndex
        while next < ordered.endIndex {
            ordered += downstream(of: ordered[next])
            next += 1
        }
        return ordered
    }

    /// Runs a check on every stage, to report what all of them have to say.
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
