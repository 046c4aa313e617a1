import Access
import BuiltInStages
import Foundation
import HTTPServer
import PipelineKit
import PipelineRuntime
import Time

/// The settings of the gateway for CloudKit Web Services, under `api` in a pipeline file.
package struct GatewaySettings: PluginSettings {
    /// The source: the stage to whose door the gateway sends writes, and whose log the gateway follows.
    package let from: String
    /// The address that the gateway listens on.
    package let address: ListenAddress
    /// The files of the certificate; nil if the gateway serves plain HTTP.
    package let tls: CertificateFiles?
    /// Whether clients connect to a proxy, which encrypts and adds their addresses to `X-Forwarded-For`.
    package let isBehindTLS: Bool
    /// The web pages that may read answers.
    package let origins: AllowedOrigins
    /// The file with a line for each request; nil if the gateway has no access log.
    package let accessLog: String?
    /// The folder of the store, the producer's secret and the assets; nil for `api` in the pipeline's data folder.
    package let folder: String?
    /// The file of keys that `belfry key` writes; nil for `keys.json` in the gateway's folder.
    package let keys: String?
    /// The address of the courier. `tokens/create` gives it to clients, and the gateway reads notifications there. Nil
    /// if the settings name no courier.
    package let courier: String?
    /// The transport of devices that poll the courier.
    package let courierTransport: String
    /// The transport of devices with an APNs token.
    package let apnsTransport: String
    /// How long a request waits for its writes to be stored. After this time the gateway answers that their outcome is
    /// unknown.
    package let writeTimeout: Duration
    /// How long a read waits for the store to catch up with the changes log. After this time the gateway refuses the
    /// read.
    package let lagMax: Duration
    /// Whether queries may use only CloudKit's predicates, or also Belfry's extensions.
    package let predicates: Predicates

    package enum Predicates: String, CaseIterable, Sendable { case cloudKit, extended }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        from = try settings.string("from", default: "ingest")
        address = try ListenAddress(&settings, default: "127.0.0.1:7490")
        tls = try CertificateFiles(&settings)
        isBehindTLS = try CertificateFiles.check(tls, address, of: "the gateway", &settings)
        origins = try AllowedOrigins(&settings)
        accessLog = try settings.optionalPath("accessLog")
        folder = try settings.optionalPath("store")
        keys = try settings.optionalPath("keys")
        courier = try settings.optionalString("courier")
        if let courier, !Self.isAddress(courier) {
            throw settings.fail(
                "courier", "expected the http or https address of the courier, without a slash at its end",
                hint: "write one like http://127.0.0.1:7480")
        }
        courierTransport = try settings.string("courierTransport", default: "courier")
        apnsTransport = try settings.string("apnsTransport", default: "apns")
        writeTimeout = try settings.duration(
            "writeTimeout", default: .seconds(20), in: .milliseconds(100)...(.seconds(300)))
        lagMax = try settings.duration("lagMax", default: .seconds(2), in: .milliseconds(100)...(.seconds(300)))
        predicates = try settings.choice("predicates", default: .cloudKit)
    }

    private static func isAddress(_ text: String) -> Bool {
        guard !text.hasSuffix("/"), let url = URLComponents(string: text), let scheme = url.scheme?.lowercased() else {
            return false
        }
        return ["http", "https"].contains(scheme) && url.host?.isEmpty == false && url.query == nil
            && url.fragment == nil && url.user == nil
    }

    package func secretErrors() -> [any Error] { [tls?.validationError()].compactMap(\.self) }

    package func endingCertificates(at now: Instant) -> [EndingCertificate] {
        [tls?.endingCertificate(at: now, of: "the gateway")].compactMap(\.self)
    }
}

extension GatewaySettings {
    /// The settings of a pipeline's gateway.
    ///
    /// - Parameter path: The pipeline file, for messages.
    /// - Throws: All mistakes in the settings, or one error if the file has no gateway or `from` is not the source.
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
                reader.fail("from", "must be the source, \(source), but this is \(settings.from)")
            ])
        }
        let unknown = try settings.unknownTransports(reader, file)
        guard unknown.isEmpty else { throw PipelineFileError(unknown) }
        self = settings
    }

    /// A mistake for each setting that names no transport of the file. Settings that are left out are not checked. If
    /// the file's stages have no transports that Belfry knows, nothing is checked: a plugin may have some.
    private func unknownTransports(
        _ reader: SettingsReader, _ file: PipelineFile
    ) throws(PipelineFileError) -> [SettingsError] {
        var known: [String] = []
        for stage in file.stagesInOrder { known += try Registry.builtInStages.transports(of: stage).map(\.name) }
        guard !known.isEmpty else { return [] }
        return [("courierTransport", courierTransport), ("apnsTransport", apnsTransport)].compactMap { key, name in
            guard reader.contains(key), !known.contains(name) else { return nil }
            return reader.fail(
                key, "no stage has a transport \(name)", hint: "the transports are \(known.joined(separator: ", "))")
        }
    }

    /// Reads the files of the certificate; nil if the settings name no certificate.
    func certificate() throws(PipelineFileError) -> ServerCertificate? {
        do throws(SettingsError) { return try tls?.open() } catch { throw PipelineFileError([error]) }
    }

    /// The keys of the settings that differ, except for the certificate's path and its key's source.
    func keysOfChanges(from other: GatewaySettings) -> [String] {
        let settings = [
            ("from", from == other.from), ("listen", address == other.address), ("store", folder == other.folder),
            ("keys", keys == other.keys), ("courier", courier == other.courier),
            ("courierTransport", courierTransport == other.courierTransport),
            ("apnsTransport", apnsTransport == other.apnsTransport),
            ("writeTimeout", writeTimeout == other.writeTimeout), ("lagMax", lagMax == other.lagMax),
            ("predicates", predicates == other.predicates), ("origins", origins == other.origins),
            ("accessLog", accessLog == other.accessLog), ("certificate", (tls == nil) == (other.tls == nil)),
            ("behindTLS", isBehindTLS == other.isBehindTLS),
        ]
        return settings.filter { !$0.1 }.map(\.0)
    }

    /// The mistake if the gateway has no keys, although other machines could connect; otherwise nil.
    func missingKeys(_ access: AccessControl, _ file: PipelineFile) -> SettingsError? {
        guard access.isOpen, !address.isLoopback else { return nil }
        return file.api?.fail(
            "listen", "there is no key file \(keyFile(of: file).path), so the gateway may listen on loopback only",
            hint: "make a key with `belfry key create`, or listen on 127.0.0.1")
    }

    /// The file of keys; it need not exist.
    func keyFile(of file: PipelineFile) -> AccessKeyFile {
        AccessKeyFile(path: keys ?? "\(folder(of: file))/keys.json")
    }

    /// The folder of the gateway's store.
    package func folder(of file: PipelineFile) -> String { folder ?? "\(file.data)/\(PipelineFile.gatewayName)" }
}
