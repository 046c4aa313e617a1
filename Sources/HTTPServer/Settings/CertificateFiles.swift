import NIOSSL
import PipelineKit
import Time

/// The files of a server's certificate and key: the settings `certificate` and `key`.
package struct CertificateFiles: Sendable {
    /// The key of the settings that names the certificate.
    package static let certificateKey = "certificate"

    /// A PEM file: the server's own certificate first, then the ones that signed it.
    package let certificate: String
    package let key: Secret
    private let place: SettingsError

    private static let remedy =
        "renew it; put the new one in its place, with its key; and have the pipeline file read again (SIGHUP)"

    /// Nil if the settings name no certificate.
    package init?(_ settings: inout SettingsReader) throws(SettingsError) {
        guard let certificate = try settings.optionalPath(Self.certificateKey) else {
            guard try settings.optionalSecret("key") == nil || settings.isExcused(Self.certificateKey) else {
                throw settings.fail("key", "is the key of no certificate", hint: "add `certificate`, a PEM file")
            }
            return nil
        }
        self.certificate = certificate
        key = try settings.secret("key")
        place = settings.fail(Self.certificateKey, "")
    }

    /// Whether a server may listen there: to other machines it must encrypt, itself or with a proxy before it
    /// (`behindTLS`).
    ///
    /// - Parameter server: What the message calls the server, such as `the courier`.
    package static func check(
        _ files: CertificateFiles?, _ address: ListenAddress, of server: String, _ settings: inout SettingsReader
    ) throws(SettingsError) {
        // Also read if it is not needed, so that it may stay in the file when the address changes.
        let isBehindTLS = try settings.boolean("behindTLS", default: false)
        guard
            isBehindTLS || files != nil || settings.isExcused(certificateKey) || settings.isExcused("key")
                || address.isLoopback
        else {
            throw settings.fail(
                "listen", "other machines reach \(address.host), and \(server) does not encrypt what it sends",
                hint: "give it a `certificate` and its `key`, or put TLS in front of it and say `behindTLS: true`, or "
                    + "listen on 127.0.0.1")
        }
    }

    /// Nil if the certificate lasts longer, or if its file cannot be read, which ``open()`` reports.
    package func endingCertificate(at now: Instant, of server: String) -> EndingCertificate? {
        do {
            guard let seconds = try NIOSSLCertificate.fromPEMFile(certificate).first?.notValidAfter else { return nil }
            return EndingCertificate(
                certificate, key: Self.certificateKey, end: Instant(microseconds: Int64(seconds) * 1_000_000), at: now,
                consequence: "clients do not trust \(server)", remedy: Self.remedy)
        } catch { return nil }
    }

    /// Why the files cannot be used, if this process can read the key.
    package func mistake() -> SettingsError? {
        guard key.isReadable else { return nil }
        do throws(SettingsError) { _ = try open() } catch { return error }
        return nil
    }

    /// Reads both files.
    package func open() throws(SettingsError) -> ServerCertificate {
        let chain: [NIOSSLCertificate]
        do { chain = try NIOSSLCertificate.fromPEMFile(certificate) } catch {
            throw failure("\(certificate) cannot be read, or holds no certificate in PEM")
        }
        guard !chain.isEmpty else { throw failure("\(certificate) holds no certificate") }
        let text = try key.reveal()
        let privateKey = try key.check("holds no private key in PEM") {
            try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem)
        }
        return try key.check("is not the key of \(certificate)") {
            try ServerCertificate(chain: chain, key: privateKey)
        }
    }

    private func failure(_ reason: String) -> SettingsError {
        var failure = place
        failure.reason = reason
        return failure
    }
}
