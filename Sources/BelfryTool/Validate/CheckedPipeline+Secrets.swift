import BuiltIns
import PipelineKit
import PipelineRuntime
import Time
import WebServices

extension CheckedPipeline {
    /// Warnings about secrets: first about secrets in the pipeline file itself, then about unusable secret files, then
    /// about secrets that a transport or the gateway cannot use.
    func secretWarnings() throws(PipelineFileError) -> [SettingsError] {
        try file.secretsInClear(under: Registry.builtIns.secretKeys) + file.secretFileErrors()
            + warnings { settings, reader in
                settings.secretErrors().map { error in
                    (error as? SettingsError) ?? (error as? TransportError)?.mistake ?? reader.fail("use", "\(error)")
                }
            }
    }

    /// Warnings about certificates of transports and of the gateway that have expired or will expire soon.
    func certificateWarnings(at now: Instant) throws(PipelineFileError) -> [SettingsError] {
        try warnings { settings, reader in
            settings.endingCertificates(at: now).map { reader.fail($0.key, $0.textWithApp, hint: $0.remedy) }
        }
    }

    /// The warnings of `check` for the settings of each transport, in the order of the stages, and of the gateway.
    private func warnings(
        _ check: (any PluginSettings, SettingsReader) -> [SettingsError]
    ) throws(PipelineFileError) -> [SettingsError] {
        var warnings: [SettingsError] = []
        for stage in file.stagesInOrder {
            for binding in try Registry.builtIns.transports(of: stage) {
                guard let transport = Registry.builtIns.transports[binding.kind] else { continue }
                warnings += check(try Self.settings(of: transport, binding.settings), binding.settings)
            }
        }
        guard let api = file.api, let gateway = try gateway else { return warnings }
        return warnings + check(gateway, api)
    }

    private static func settings<T: Transport>(
        of transport: T.Type, _ reader: SettingsReader
    ) throws(PipelineFileError) -> any PluginSettings {
        try reader.decode(T.Settings.self)
    }
}
