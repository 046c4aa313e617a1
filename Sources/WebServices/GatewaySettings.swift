import Access
import HTTPServer
import PipelineKit
import Time

/// The settings of the gateway for CloudKit Web Services, under `api` in a pipeline file.
package struct GatewaySettings: PluginSettings {
    /// The stage whose door it sends to and whose log it follows: the source.
    package let from: String
    /// Where clients connect.
    package let address: ListenAddress
    /// Nil: the gateway speaks plain HTTP.
    package let tls: CertificateFiles?
    /// The web pages that may read answers.
    package let origins: AllowedOrigins
    /// The file with a line for each request; nil: there is none.
    package let accessLog: String?
    /// The folder of its store, its producer's secret and its assets; nil: `api` in the pipeline's data folder.
    package let folder: String?
    /// The file of keys that `belfry key` writes; nil: `keys.json` in ``folder``.
    package let keys: String?
    /// The address of the courier that ``tokens/create`` gives to clients; nil: there is none.
    package let courier: String?
    /// The transport of devices that poll the courier, and of devices with an APNs token.
    package let courierTransport: String
    package let apnsTransport: String
    /// Where users without a web authentication token are sent to sign in.
    package let signIn: String?
    /// How long a write waits until it is stored.
    package let writeTimeout: Duration
    /// How long the store may lag behind the changes log before requests are refused.
    package let lagMax: Duration
    package let predicates: Predicates

    package enum Predicates: String, CaseIterable, Sendable { case cloudKit, extended }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        from = try settings.string("from", default: "ingest")
        address = try ListenAddress(&settings, default: "127.0.0.1:7490")
        tls = try CertificateFiles(&settings)
        try CertificateFiles.check(tls, address, of: "the gateway", &settings)
        origins = try AllowedOrigins(&settings)
        accessLog = try settings.optionalPath("accessLog")
        folder = try settings.optionalPath("store")
        keys = try settings.optionalPath("keys")
        courier = try settings.optionalString("courier")
        courierTransport = try settings.string("courierTransport", default: "courier")
        apnsTransport = try settings.string("apnsTransport", default: "apns")
        signIn = try settings.optionalString("signIn")
        writeTimeout = try settings.duration(
            "writeTimeout", default: .seconds(20), in: .milliseconds(100)...(.seconds(300)))
        lagMax = try settings.duration("lagMax", default: .seconds(2), in: .milliseconds(100)...(.seconds(300)))
        predicates = try settings.choice("predicates", default: .cloudKit)
    }

    package static let fileKeys: Set<String> = [CertificateFiles.certificateKey]

    package func secretErrors() -> [any Error] { [tls?.mistake()].compactMap(\.self) }

    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        [tls?.endingCertificate(at: now, of: "the gateway")].compactMap(\.self)
    }
}

extension GatewaySettings {
    /// The settings of a pipeline's gateway.
    ///
    /// - Parameter path: The pipeline file, for messages.
    /// - Throws: All mistakes in the settings; an error if there are none.
    package init(of file: PipelineFile, path: String) throws(PipelineFileError) {
        guard let reader = file.api else {
            throw PipelineFileError([
                SettingsError(
                    file: path, keyPath: "api", reason: "required: the settings of the gateway",
                    hint: "write `api: {listen: 127.0.0.1:7490}` beside `stages`")
            ])
        }
        let settings = try reader.decode(GatewaySettings.self)
        let source = file.sourceStage.name
        guard settings.from == source else {
            throw PipelineFileError([
                reader.fail("from", "the gateway reads from the source, \(source), not from \(settings.from)")
            ])
        }
        self = settings
    }

    /// Reads the files of the certificate; nil where the settings name none.
    func certificate() throws(PipelineFileError) -> ServerCertificate? {
        do throws(SettingsError) { return try tls?.open() } catch { throw PipelineFileError([error]) }
    }

    /// Whether everything except the certificate and its key is the same.
    func hasSameRest(as other: GatewaySettings) -> Bool {
        (from, address, folder, keys, courier, signIn)
            == (other.from, other.address, other.folder, other.keys, other.courier, other.signIn)
            && (courierTransport, apnsTransport, writeTimeout, lagMax, predicates)
                == (other.courierTransport, other.apnsTransport, other.writeTimeout, other.lagMax, other.predicates)
            && (origins, accessLog, tls == nil) == (other.origins, other.accessLog, other.tls == nil)
    }

    /// - Throws: If the gateway has no keys, and other machines could connect.
    func check(_ access: AccessControl, path: String) throws(PipelineFileError) {
        guard access.isOpen, !address.isLoopback else { return }
        throw PipelineFileError([
            SettingsError(
                file: path, keyPath: "api.listen", reason: "a gateway without keys listens on loopback only",
                hint: "make a key with `belfry key create`, or listen on 127.0.0.1")
        ])
    }

    /// The folder of the gateway's store.
    package func folder(of file: PipelineFile) -> String { folder ?? "\(file.data)/\(PipelineFile.gatewayName)" }
}
