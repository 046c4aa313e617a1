import JSON
import PipelineKit

extension PipelineStage {
    /// The keys that go into no record of a stage's own settings.
    fileprivate static let sharedKeys = commonKeys.union(["door"])

    /// The stage's own settings as a build read them to which no default had changed. Not to be put on record: see
    /// ``Registry/recordAsWritten(of:)``.
    package var settingsAsWritten: String { settings.record(without: PipelineStage.sharedKeys) }
}

extension Registry {
    /// The transports that a stage's settings set up; none for a program of its own.
    package func transports(of stage: PipelineStage) throws(PipelineFileError) -> [TransportBinding] {
        guard stage.command.isEmpty, let type = stages[stage.kind] else { return [] }
        return try Registry.transports(type, stage)
    }

    private static func transports<S: Stage>(_ type: S.Type, _ stage: PipelineStage) throws(PipelineFileError)
        -> [TransportBinding]
    {
        S.transports(of: try stage.settings.decode(S.Settings.self))
    }

    /// The keys of a stage's own settings; none for a program of its own, which takes none.
    package func settingsKeys(of stage: PipelineStage) throws(SettingsError) -> [String] {
        guard stage.command.isEmpty, let type = stages[stage.kind] else { return [] }
        return try Registry.settingsKeys(type, stage)
    }

    private static func settingsKeys<S: Stage>(_ type: S.Type, _ stage: PipelineStage) throws(SettingsError)
        -> [String]
    {
        try stage.settings.keys(of: S.Settings.self).filter { !PipelineStage.commonKeys.contains($0) }
    }

    /// The settings whose defaults changed; none for a program of its own.
    package func changedDefaults(of stage: PipelineStage) -> [ChangedDefault] {
        stage.command.isEmpty ? changedDefaults(ofKind: stage.kind) : []
    }

    package func changedDefaults(ofKind kind: String) -> [ChangedDefault] {
        stages[kind].map { Registry.changedDefaults($0) } ?? []
    }

    private static func changedDefaults<S: Stage>(_ type: S.Type) -> [ChangedDefault] { S.Settings.changedDefaults }

    /// The stage with seals on what its transports' settings lead to, so that it learns of a key that was mended in place.
    package func sealed(_ stage: PipelineStage) -> PipelineStage {
        guard stage.command.isEmpty, stages[stage.kind]?.isSource == false else { return stage }
        let files: Set<String> = transports.values.reduce(into: []) { $0.formUnion(Registry.fileKeys($1)) }
        return stage.sealed(files: files, secrets: secretKeys)
    }

    /// See ``PipelineKit/PluginSettings/secretKeys``: those of all transports.
    package var secretKeys: Set<String> { transports.values.reduce(into: []) { $0.formUnion(Registry.secretKeys($1)) } }

    private static func secretKeys<T: Transport>(_ type: T.Type) -> Set<String> { T.Settings.secretKeys }

    private static func fileKeys<T: Transport>(_ type: T.Type) -> Set<String> { T.Settings.fileKeys }

    /// A stage's own settings as its host puts them on record.
    package func record(of stage: PipelineStage) -> String {
        hidingSecrets(of: stage).settings.spelt(changedDefaults(of: stage), as: \.now)
            .record(without: PipelineStage.sharedKeys)
    }

    /// The same as a build put it on record to which no default had changed.
    package func recordAsWritten(of stage: PipelineStage) -> String {
        hidingSecrets(of: stage).settingsAsWritten
    }

    /// The stage with settings of which a record leaves out each secret that stands in clear.
    package func hidingSecrets(of stage: PipelineStage) -> PipelineStage { stage.hidingSecrets(under: secretKeys) }

    /// One transport, with its settings checked and nothing opened.
    ///
    /// - Parameters:
    ///   - folder: Where a transport may keep what is its own; nil: nowhere.
    ///   - plan: The stage's that runs the transport.
    ///   - commons: What it shares with the stage's others.
    ///   - console: Where the console transport writes its lines.
    package func transport(
        _ binding: TransportBinding, folder: String? = nil, of plan: HostPlan? = nil,
        commons: SharedResources = SharedResources(), console: @escaping @Sendable (String) throws -> Void
    ) throws(PipelineFileError) -> any Transport {
        guard let type = transports[binding.kind] else {
            let known = transports.keys.sorted()
            let near = Spelling.suggestion(for: binding.kind, among: known).map { $0 + " " } ?? ""
            let error = binding.settings.fail(
                "use", "unknown transport '\(binding.kind)'", hint: "\(near)known: \(known.joined(separator: ", "))")
            throw PipelineFileError([error])
        }
        var context = TransportContext(
            name: binding.name, folder: folder ?? plan?.logDirectory, inputLog: plan?.inputLog,
            sync: plan?.sync ?? .always,
            console: console)
        context.sharedResources = commons
        context.mode = plan?.mode ?? .owner
        if let plan { context.tell = { StandardError.write("\(plan.stage): \($0)") } }
        return try Registry.transport(type, binding, context)
    }

    private static func transport<T: Transport>(
        _ type: T.Type, _ binding: TransportBinding, _ context: TransportContext
    ) throws(PipelineFileError) -> any Transport {
        let settings = try binding.settings.decode(T.Settings.self)
        do throws(SettingsError) {
            return try T(settings, context: context)
        } catch {
            throw PipelineFileError([error])
        }
    }
}
