import PipelineKit

/// What a pipeline file says about payload.
package struct PayloadSettings: PluginSettings, Hashable {
    /// How long APNs keeps a push for a device that it cannot reach: the header `apns-expiration`. Zero: one attempt.
    /// Nil, the default: without the header APNs keeps a push for up to 30 days.
    package var expiration: Duration?

    package init(expiration: Duration? = nil) { self.expiration = expiration }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        expiration = try settings.optionalDuration("expiration", in: .zero ... .seconds(30 * 86_400))
    }
}
