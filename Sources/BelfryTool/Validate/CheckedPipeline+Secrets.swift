import BuiltIns
import PipelineKit
import PipelineRuntime

extension CheckedPipeline {
    /// What is wrong with secrets, as far as it shows here: first those that stand in the pipeline file in clear, then files
    /// that could not be used at all, then contents that a transport could not use.
    func secretWarnings() throws(PipelineFileError) -> [SettingsError] {
        var warnings = file.secretsInClear(under: Registry.builtIns.secretKeys) + file.secretFileErrors()
        for stage in file.stagesInOrder {
            for binding in try Registry.builtIns.transports(of: stage) {
                guard let transport = Registry.builtIns.transports[binding.kind] else { continue }
                if let warning = Self.warning(transport, binding) { warnings.append(warning) }
            }
        }
        return warnings
    }

    private static func warning<T: Transport>(_ transport: T.Type, _ binding: TransportBinding) -> SettingsError? {
        do {
            try binding.settings.decode(T.Settings.self).checkSecrets()
            return nil
        } catch {
            return binding.settings.fail("use", "\(error)")
        }
    }
}
