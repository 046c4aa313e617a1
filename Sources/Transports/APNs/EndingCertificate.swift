import NIOSSL
import PipelineKit
import Time

extension APNsSettings {
    /// What is to be done about a certificate of Apple's that ends: it lasts a year, and no push is taken without.
    package static let certificateRemedy =
        "renew it at developer.apple.com, Certificates; put the new one in its place, with its key; and have the pipeline "
        + "file read again (SIGHUP)"

    /// In the order of the apps.
    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        apps.compactMap { EndingCertificate($0, at: now) }
    }
}

extension EndingCertificate {
    /// Nil where it lasts longer, and where no file is there that could be read: opening says that.
    init?(_ app: APNsApp, at now: Instant) {
        guard case .certificate(let path, _) = app.credential, let end = Self.end(of: path) else { return nil }
        self.init(
            path, of: app.name, key: "apps", end: end, at: now, consequence: "APNs takes no push of \(app.name)",
            remedy: APNsSettings.certificateRemedy)
    }

    /// The app's own stands first, before those that it was signed with.
    private static func end(of path: String) -> Instant? {
        do {
            let seconds = try NIOSSLCertificate.fromPEMFile(path).first?.notValidAfter
            return seconds.map { Instant(microseconds: Int64($0) * 1_000_000) }
        } catch { return nil }
    }
}
