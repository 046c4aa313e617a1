import BuiltIns
import PipelineKit
import PipelineRuntime
import Time

extension CheckedPipeline {
    /// Warnings about secrets: first about secrets in the pipeline file itself, then about unusable secret files, then about
    /// secrets that a transport cannot use.
    func secretWarnings() throws(PipelineFileError) -> [SettingsError] {
        try file.secretsInClear(under: Registry.builtIns.secretKeys) + file.secretFileErrors()
            + transportWarnings { settings, reader in
                settings.secretErrors().map { error in
                    (error as? TransportError)?.mistake ?? reader.fail("use", "\(error)")
                }
            }
    }

    /// Warnings about certificates of transports that have expired or will expire soon.
    func certificateWarnings(at now: Instant) throws(PipelineFileError) -> [SettingsError] {
        try transportWarnings { settings, reader in
            settings.endingCertificates(at: now).map { reader.fail($0.key, $0.textWithApp, hint: $0.remedy) }
        }
    }

    /// The warnings of `check` for the settings of each transport, in the order of the stages.
    private func transportWarnings(
        _ check: (any PluginSettings, SettingsReader) -> [SettingsError]
    ) throws(PipelineFileError) -> [SettingsError] {
        var warnings: [SettingsError] = []
        for stage in file.stagesInOrder {
            for binding in try Registry.builtIns.transports(of: stage) {
                guard let transport = Registry.builtIns.transports[binding.kind] else { continue }
                warnings += check(try Self.settings(of: transport, binding.settings), binding.settings)
            }
        }
        return warnings
    }

    private static func settings<T: Transport>(
        of transport: T.Type, _ reader: SettingsReader
    ) throws(PipelineFileError) -> any PluginSettings {
        try reader.decode(T.Settings.self)
    }
}
