import NIOSSL
import PipelineKit
import Time

/// The file of a server's certificate, and the certificate's private key: the settings `certificate` and `key`.
package struct CertificateFiles: Sendable {
    /// The name of the setting with the path of the certificate.
    package static let certificateSetting = "certificate"

    /// The path of a PEM file: the server's own certificate first, then the certificates that signed it.
    package let certificate: String
    package let key: Secret
    /// An error at the setting `certificate`, without a reason.
    private let emptyError: SettingsError

    private static let remedy =
        "renew the certificate, replace the certificate and its key, and reload the pipeline file (SIGHUP)"

    /// Nil if the settings name no certificate.
    package init?(_ settings: inout SettingsReader) throws(SettingsError) {
        guard let certificate = try settings.optionalPath(Self.certificateSetting) else {
            guard try settings.optionalSecret("key") == nil || settings.isExcused(Self.certificateSetting) else {
                throw settings.fail(
                    "key", "a key is set but `certificate` is not", hint: "add `certificate`, a PEM file")
            }
            return nil
        }
        self.certificate = certificate
        key = try settings.secret("key")
        emptyError = settings.fail(Self.certificateSetting, "")
    }

    /// Fails if other machines can reach the address, and neither the server nor a proxy in front of it (`behindTLS`)
    /// encrypts the connections.
    ///
    /// - Parameter server: The name of the server in the error, such as `the courier`.
    /// - Returns: Whether a proxy encrypts the connections.
    @discardableResult
    package static func check(
        _ files: CertificateFiles?, _ address: ListenAddress, of server: String, _ settings: inout SettingsReader
    ) throws(SettingsError) -> Bool {
        // The setting is read even if it is not needed, so that it may stay in the file when the address changes.
        let isBehindTLS = try settings.boolean("behindTLS", default: false)
        guard
            isBehindTLS || files != nil || settings.isExcused(certificateSetting) || settings.isExcused("key")
                || address.isLoopback
        else {
            throw settings.fail(
                "listen", "other machines reach \(address.host), and \(server) does not encrypt what it sends",
                hint: "set `certificate` and `key`, or put a proxy with TLS in front of \(server) and set "
                    + "`behindTLS: true`, or listen on 127.0.0.1")
        }
        return isBehindTLS
    }

    /// The certificate if it has expired or expires soon. Nil if it lasts longer, or if its file cannot be read or
    /// holds no certificate. ``open()`` reports such a file.
    package func endingCertificate(at now: Instant, of server: String) -> EndingCertificate? {
        do {
            guard let seconds = try NIOSSLCertificate.fromPEMFile(certificate).first?.notValidAfter else { return nil }
            return EndingCertificate(
                certificate, key: Self.certificateSetting, end: Instant(microseconds: Int64(seconds) * 1_000_000),
                at: now, consequence: "clients do not trust \(server)", remedy: Self.remedy)
        } catch { return nil }
    }

    /// Why the certificate and the key cannot be used. Nil if they can be used, if this process cannot read the key, or
    /// if the key is empty.
    package func validationError() -> SettingsError? {
        guard key.isReadable else { return nil }
        do throws(SettingsError) { _ = try open() } catch { return error }
        return nil
    }

    /// Reads the certificate and the key.
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
        var failure = emptyError
        failure.reason = reason
        return failure
    }
}
