import PipelineKit

/// The settings of ``PayloadStage`` in a pipeline file.
package struct PayloadSettings: PluginSettings, Hashable {
    /// How long APNs stores a push for a device that it cannot reach (the header `apns-expiration`).
    ///
    /// If it is zero, APNs tries once. If it is nil, the default, the push has no such header and APNs stores the push
    /// for up to 30 days.
    package var expiration: Duration?

    package init(expiration: Duration? = nil) { self.expiration = expiration }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        expiration = try settings.optionalDuration("expiration", in: .zero ... .seconds(30 * 86_400))
    }
}
