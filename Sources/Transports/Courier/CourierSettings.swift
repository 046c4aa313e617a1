import HTTPServer
import PipelineKit
import Time

/// Settings of ``CourierTransport``.
package struct CourierSettings: PluginSettings {
    /// The address that the courier listens on.
    package let address: ListenAddress
    /// The path of the SQLite file; nil for a file in the folder of the stage's log.
    package let store: String?
    /// How long a notification is kept.
    package let keep: Duration
    /// How many notifications of one user are kept.
    package let keepPerUser: Int
    /// How long a poll waits for a notification.
    package let pollTimeout: Duration
    /// The web pages that may read the courier's answers.
    package let origins: AllowedOrigins
    /// Nil if the courier serves plain HTTP.
    let tls: CertificateFiles?
    /// Whether clients connect to a proxy, which encrypts.
    let isBehindTLS: Bool

    package static let fileKeys: Set<String> = [CertificateFiles.certificateSetting]

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        address = try ListenAddress(&settings, default: "127.0.0.1:7480")
        tls = try CertificateFiles(&settings)
        isBehindTLS = try CertificateFiles.check(tls, address, of: "the courier", &settings)
        store = try settings.optionalPath("store")
        keep = try settings.duration(
            "keep", default: .seconds(30 * 86_400), in: .seconds(60)...(.seconds(3650 * 86_400)))
        keepPerUser = try settings.integer("keepPerUser", default: 1000, in: 1...1_000_000)
        pollTimeout = try settings.duration(
            "pollTimeout", default: .seconds(60), in: .milliseconds(100)...(.seconds(3600)))
        origins = try AllowedOrigins(&settings)
    }

    package func secretErrors() -> [any Error] {
        [tls?.validationError()].compactMap(\.self)
    }

    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        [tls?.endingCertificate(at: now, of: "the courier")].compactMap(\.self)
    }

    /// Whether all settings except the files of the certificate and its key are the same. An added or removed
    /// certificate is a difference.
    func matchesExceptCertificateFiles(_ other: CourierSettings) -> Bool {
        (address, store, keep, keepPerUser, pollTimeout)
            == (other.address, other.store, other.keep, other.keepPerUser, other.pollTimeout)
            && (origins, isBehindTLS, tls == nil) == (other.origins, other.isBehindTLS, other.tls == nil)
    }
}
