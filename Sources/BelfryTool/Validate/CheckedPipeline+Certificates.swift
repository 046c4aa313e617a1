import BuiltIns
import EventLog
import PipelineKit
import PipelineRuntime
import TransportAPNs

extension CheckedPipeline {
    /// The certificates of apps that are over, or soon will be; in the order of the stages.
    func certificateWarnings(at now: Instant) throws(PipelineFileError) -> [SettingsError] {
        var warnings: [SettingsError] = []
        for stage in file.stagesInOrder {
            for binding in try Registry.builtIns.transports(of: stage) where binding.kind == APNsTransport.kind {
                warnings += try Self.certificateWarnings(binding.settings, at: now)
            }
        }
        return warnings
    }

    private static func certificateWarnings(
        _ settings: SettingsReader, at now: Instant
    ) throws(PipelineFileError) -> [SettingsError] {
        try settings.decode(APNsSettings.self).endingCertificates(at: now).map {
            settings.fail("apps", "\($0.app): \($0.text)", hint: EndingCertificate.remedy)
        }
    }
}
