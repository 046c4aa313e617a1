import JSON
import PipelineKit

extension PipelineStage {
    /// The keys that are left out of the record of a stage's own settings.
    fileprivate static let sharedKeys = commonKeys.union(["door"])

    /// The stage's own settings as they are in the pipeline file, without defaults for missing settings. Code that
    /// expects recorded settings can read this text too. Such code gives a missing setting its oldest default, from
    /// before any default changed. The text may contain secrets, so it must not be written to a file:
    /// ``Registry/record(of:)`` and ``Registry/recordAsWritten(of:)`` leave the secrets out.
    package var settingsAsWritten: String { settings.record(without: PipelineStage.sharedKeys) }
}

extension Registry {
    /// The transports that a stage's settings set up; empty for a program or an unregistered kind.
    package func transports(of stage: PipelineStage) throws(PipelineFileError) -> [TransportBinding] {
        guard stage.command.isEmpty, let type = stages[stage.kind] else { return [] }
        return try type.transports(in: stage.settings)
    }

    /// The keys that a stage's own settings may have; empty for a program or an unregistered kind.
    package func settingsKeys(of stage: PipelineStage) throws(SettingsError) -> [String] {
        guard stage.command.isEmpty, let type = stages[stage.kind] else { return [] }
        return try type.keys(in: stage.settings).filter { !PipelineStage.commonKeys.contains($0) }
    }

    /// The settings whose defaults have changed; empty for a program or an unregistered kind.
    package func changedDefaults(of stage: PipelineStage) -> [ChangedDefault] {
        stage.command.isEmpty ? changedDefaults(ofKind: stage.kind) : []
    }

    package func changedDefaults(ofKind kind: String) -> [ChangedDefault] {
        stages[kind]?.changedDefaults ?? []
    }

    /// The stage with a seal, a checksum of the contents, on each secret in its settings and on each file that a
    /// transport's setting names. So a changed key file counts as a changed setting. A source and a program get no
    /// seals.
    package func sealed(_ stage: PipelineStage) -> PipelineStage {
        guard stage.command.isEmpty, stages[stage.kind]?.isSource == false else { return stage }
        let files: Set<String> = transports.values.reduce(into: []) { $0.formUnion($1.fileKeys) }
        return stage.sealed(files: files, secrets: secretKeys)
    }

    /// The ``PipelineKit/PluginSettings/secretKeys`` of all transports.
    package var secretKeys: Set<String> { transports.values.reduce(into: []) { $0.formUnion($1.secretKeys) } }

    /// The stage's own settings as its host records them.
    package func record(of stage: PipelineStage) -> String {
        hidingSecrets(of: stage).settings.addingDefaults(changedDefaults(of: stage), as: \.now)
            .record(without: PipelineStage.sharedKeys)
    }

    /// The stage's own settings in the form in which hosts recorded them before any default changed: missing settings
    /// stay missing.
    package func recordAsWritten(of stage: PipelineStage) -> String {
        hidingSecrets(of: stage).settingsAsWritten
    }

    /// The stage with its plain-text secrets marked, so that records of the settings leave them out.
    package func hidingSecrets(of stage: PipelineStage) -> PipelineStage { stage.hidingSecrets(under: secretKeys) }

    /// Makes a transport of a plan's stage. Checks the transport's settings, but does not open the transport. It may
    /// keep files in `folder`, by default the folder of the plan's log.
    package func transport(
        _ binding: TransportBinding, folder: String? = nil, of plan: HostPlan? = nil,
        shared: SharedResources = SharedResources(), console: @escaping @Sendable (String) throws -> Void
    ) throws(PipelineFileError) -> any Transport {
        guard let type = transports[binding.kind] else {
            let choice = PluginChoice(kind: binding.kind, settings: binding.settings)
            throw PipelineFileError([choice.unknown("transport", known: transports.keys.sorted())])
        }
        var context = TransportContext(
            name: binding.name, folder: folder ?? plan?.logDirectory, inputLog: plan?.inputLog,
            sync: plan?.sync ?? .always,
            console: console)
        context.sharedResources = shared
        context.mode = plan?.mode ?? .owner
        context.lane = plan?.lane
        if let plan {
            context.tell = { StandardError.write("\(plan.stage): \($0)") }
            context.openHome = { try plan.openHome() }
        }
        return try type.make(binding.settings, context)
    }
}

extension Stage {
    fileprivate static func transports(in settings: SettingsReader) throws(PipelineFileError) -> [TransportBinding] {
        transports(of: try settings.decode(Settings.self))
    }

    fileprivate static func keys(in settings: SettingsReader) throws(SettingsError) -> [String] {
        try settings.keys(of: Settings.self)
    }

    fileprivate static var changedDefaults: [ChangedDefault] { Settings.changedDefaults }
}

extension Transport {
    fileprivate static var secretKeys: Set<String> { Settings.secretKeys }
    fileprivate static var fileKeys: Set<String> { Settings.fileKeys }

    fileprivate static func make(
        _ settings: SettingsReader, _ context: TransportContext
    ) throws(PipelineFileError) -> any Transport {
        let settings = try settings.decode(Settings.self)
        do throws(SettingsError) { return try Self(settings, context: context) } catch {
            throw PipelineFileError([error])
        }
    }
}
