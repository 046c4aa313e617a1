import NIOSSL
import PipelineKit
import Synchronization
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
    /// The contents of both files.
    struct Opened: Sendable {
        let context: NIOSSLContext
        let certificate: NIOSSLCertificate
    }

    /// Reads both files.
    func open() throws(TransportError) -> Opened {
        let chain = try Self.read("certificate: \(certificate) cannot be read, or holds no certificate in PEM") {
            try NIOSSLCertificate.fromPEMFile(certificate)
        }
        guard let own = chain.first else { throw Self.failure("certificate: \(certificate) holds no certificate") }
        let text: String
        let privateKey: NIOSSLPrivateKey
        do throws(SettingsError) {
            text = try key.reveal()
            privateKey = try key.check("holds no private key in PEM") {
                try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem)
            }
        } catch { throw TransportError(error) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        let context: NIOSSLContext
        do throws(SettingsError) {
            context = try key.check("is not the key of \(certificate)") {
                try NIOSSLContext(configuration: configuration)
            }
        } catch { throw TransportError(error) }
        return Opened(context: context, certificate: own)
    }

    private static func read<Content>(
        _ complaint: String, _ body: () throws -> Content
    ) throws(TransportError) -> Content {
        do { return try body() } catch { throw failure(complaint) }
    }

    private static func failure(_ reason: String) -> TransportError {
        TransportError(reason, isOfConfiguration: true)
    }
}

/// The TLS of new connections; nil: they are not encrypted.
final class PresentTLS: Sendable {
    private let tls: Mutex<CourierTLS.Opened?>

    init(_ tls: CourierTLS.Opened?) { self.tls = Mutex(tls) }

    var value: CourierTLS.Opened? {
        get { tls.withLock { $0 } }
        set { tls.withLock { $0 = newValue } }
    }
}
