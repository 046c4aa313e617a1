import BuiltIns
import PipelineKit
import PipelineRuntime
import Time

extension CheckedPipeline {
    /// The certificates of transports that are over, or soon will be; in the order of the stages.
    func certificateWarnings(at now: Instant) throws(PipelineFileError) -> [SettingsError] {
        var warnings: [SettingsError] = []
        for stage in file.stagesInOrder {
            for binding in try Registry.builtIns.transports(of: stage) {
                guard let transport = Registry.builtIns.transports[binding.kind] else { continue }
                warnings += try Self.certificateWarnings(transport, binding.settings, at: now)
            }
        }
        return warnings
    }

    private static func certificateWarnings<T: Transport>(
        _ transport: T.Type, _ settings: SettingsReader, at now: Instant
    ) throws(PipelineFileError) -> [SettingsError] {
        try settings.decode(T.Settings.self).endingCertificates(at: now).map {
            settings.fail($0.key, $0.textWithApp, hint: $0.remedy)
        }
    }
}
