import HTTPServer
import NIOSSL
import PipelineKit
import Time

/// The files of the courier's certificate and key, as the settings name them.
struct CourierTLS: Sendable {
    /// A PEM file: the courier's own certificate first, then the ones that signed it.
    let certificate: String
    let key: Secret

    private static let remedy =
        "renew it; put the new one in its place, with its key; and have the pipeline file read again (SIGHUP)"

    /// Nil if the settings name no certificate.
    init?(_ settings: inout SettingsReader) throws(SettingsError) {
        guard let certificate = try settings.optionalPath("certificate") else {
            guard try settings.optionalSecret("key") == nil || settings.isExcused("certificate") else {
                throw settings.fail("key", "is the key of no certificate", hint: "add `certificate`, a PEM file")
            }
            return nil
        }
        self.certificate = certificate
        key = try settings.secret("key")
    }

    /// Nil if the certificate lasts longer, or if its file cannot be read, which ``open()`` reports.
    func endingCertificate(at now: Instant) -> EndingCertificate? {
        do {
            guard let seconds = try NIOSSLCertificate.fromPEMFile(certificate).first?.notValidAfter else { return nil }
            return EndingCertificate(
                certificate, key: "certificate", end: Instant(microseconds: Int64(seconds) * 1_000_000), at: now,
                consequence: "clients do not trust the courier", remedy: Self.remedy)
        } catch { return nil }
    }
}

extension CourierTLS {
    /// Reads both files.
    func open() throws(TransportError) -> ServerCertificate {
        let chain: [NIOSSLCertificate]
        do { chain = try NIOSSLCertificate.fromPEMFile(certificate) } catch {
            throw Self.failure("certificate: \(certificate) cannot be read, or holds no certificate in PEM")
        }
        guard !chain.isEmpty else { throw Self.failure("certificate: \(certificate) holds no certificate") }
        do throws(SettingsError) {
            let text = try key.reveal()
            let privateKey = try key.check("holds no private key in PEM") {
                try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem)
            }
            return try key.check("is not the key of \(certificate)") {
                try ServerCertificate(chain: chain, key: privateKey)
            }
        } catch { throw TransportError(error) }
    }

    private static func failure(_ reason: String) -> TransportError {
        TransportError(reason, isOfConfiguration: true)
    }
}
