import HTTPServer
import PipelineKit
import Time

/// Settings of ``CourierTransport``.
package struct CourierSettings: PluginSettings {
    /// Where clients connect.
    package let address: ListenAddress
    /// The SQLite file; nil: beside the stage's log.
    package let store: String?
    /// How long a notification is kept.
    package let keep: Duration
    /// How many notifications of one user are kept.
    package let keepPerUser: Int
    /// How long a poll is held.
    package let pollTimeout: Duration
    /// The web pages that may ask.
    package let origins: AllowedOrigins
    /// Nil: the courier speaks plain HTTP.
    let tls: CertificateFiles?

    package static let fileKeys: Set<String> = [CertificateFiles.certificateKey]

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        address = try ListenAddress(&settings, default: "127.0.0.1:7480")
        tls = try CertificateFiles(&settings)
        try CertificateFiles.check(tls, address, of: "the courier", &settings)
        store = try settings.optionalPath("store")
        keep = try settings.duration(
            "keep", default: .seconds(30 * 86_400), in: .seconds(60)...(.seconds(3650 * 86_400)))
        keepPerUser = try settings.integer("keepPerUser", default: 1000, in: 1...1_000_000)
        pollTimeout = try settings.duration(
            "pollTimeout", default: .seconds(60), in: .milliseconds(100)...(.seconds(3600)))
        origins = try AllowedOrigins(&settings)
    }

    package func secretErrors() -> [any Error] {
        [tls?.mistake()].compactMap(\.self)
    }

    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        [tls?.endingCertificate(at: now, of: "the courier")].compactMap(\.self)
    }

    /// Whether everything except the certificate and its key is the same.
    func hasSameRest(as other: CourierSettings) -> Bool {
        (address, store, keep, keepPerUser, pollTimeout)
            == (other.address, other.store, other.keep, other.keepPerUser, other.pollTimeout)
            && origins == other.origins && (tls == nil) == (other.tls == nil)
    }
}
