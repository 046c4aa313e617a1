import NIOSSL
import PipelineKit
import Time

extension APNsSettings {
    /// What to do about a certificate from Apple that has expired or expires soon.
    package static let certificateRemedy =
        "renew the certificate on the page Certificates of developer.apple.com; replace the certificate and its key; "
        + "and reload the pipeline file (SIGHUP)"

    /// The certificates that have expired or expire soon, in the order of the apps.
    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        apps.compactMap { EndingCertificate($0, at: now) }
    }
}

extension EndingCertificate {
    /// Nil if the app uses a key, if its certificate does not expire soon, or if the file cannot be read. An unreadable
    /// file is an error when the transport is opened.
    init?(_ app: APNsApp, at now: Instant) {
        guard case .certificate(let path, _) = app.credential, let end = Self.end(of: path) else { return nil }
        self.init(
            path, of: app.name, key: "apps", end: end, at: now, consequence: "APNs rejects every push of \(app.name)",
            remedy: APNsSettings.certificateRemedy)
    }

    /// When the app's certificate in a file expires. This certificate comes first in the file, before the certificates
    /// that signed it.
    private static func end(of path: String) -> Instant? {
        do {
            let seconds = try NIOSSLCertificate.fromPEMFile(path).first?.notValidAfter
            return seconds.map { Instant(microseconds: Int64($0) * 1_000_000) }
        } catch { return nil }
    }
}
