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
                warnings += try Self.warnings(transport, binding)
            }
        }
        return warnings
    }

    private static func warnings<T: Transport>(
        _ transport: T.Type, _ binding: TransportBinding
    ) throws(PipelineFileError) -> [SettingsError] {
        try binding.settings.decode(T.Settings.self).secretErrors().map { error in
            (error as? TransportError)?.mistake ?? binding.settings.fail("use", "\(error)")
        }
    }
}
