import Foundation
import NIOSSL
import PipelineKit

/// The pools that the apps in the settings need, and the pool of each app.
struct PoolPlans {
    private(set) var pools: [PoolPlan.Identity: PoolPlan] = [:]
    /// The pool of each app, in the order of the apps.
    private(set) var poolOfApp: [PoolPlan.Identity] = []

    /// Reads keys and certificates.
    ///
    /// - Parameter token: Returns the token of a key.
    init(_ settings: APNsSettings, token: (SigningKey) -> SharedToken) throws(TransportError) {
        for app in settings.apps {
            let identity = PoolPlan.Identity(
                host: settings.host(of: app.environment), port: settings.port, proxy: settings.proxy,
                credential: app.credentialName)
            if pools[identity] == nil {
                pools[identity] = try PoolPlan(app, settings, token)
            }
            pools[identity]?.topics.insert(app.topic)
            poolOfApp.append(identity)
        }
    }
}

extension PoolPlan {
    fileprivate init(
        _ app: APNsApp, _ settings: APNsSettings, _ token: (SigningKey) -> SharedToken
    ) throws(TransportError) {
        do {
            let secret = try app.revealed()
            self.init(
                host: settings.host(of: app.environment), port: settings.port, proxy: settings.proxy,
                proxyAuthorization: try settings.proxyLogin.map { ProxyTunnel.basic(try $0.reveal()) },
                tls: try Self.tls(settings, secret),
                connections: settings.connections, timeout: settings.timeout, backoff: settings.backoff,
                token: secret.signingKey.map(token), tokenAge: settings.tokenAge,
                credential: secret.credential(trust: settings.trust))
        } catch {
            throw TransportError("app \(app.name): \(error)", isOfConfiguration: true)
        }
    }

    private static func tls(_ settings: APNsSettings, _ secret: APNsApp.LoadedCredential) throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        if let trust = settings.trust {
            tls.trustRoots = .certificates(
                try CredentialFileError.certificates(
                    trust, "trust",
                    remedy: "set trust to another file, or leave trust out: Apple's own servers need no such file"))
        }
        if case .certificate(let chain, let key) = secret {
            tls.certificateChain = chain.map { .certificate($0) }
            tls.privateKey = .privateKey(key)
        }
        do { return try NIOSSLContext(configuration: tls) } catch {
            throw CredentialFileError(
                description: "certificate and certificateKey cannot be used; do they belong together? \(error)")
        }
    }
}

/// A credential file cannot be read or has wrong contents.
private struct CredentialFileError: Error, CustomStringConvertible {
    let description: String

    static func check<Content>(_ complaint: String, _ read: () throws -> Content) throws -> Content {
        do { return try read() } catch { throw CredentialFileError(description: complaint) }
    }

    /// - Parameter key: The setting that names the file.
    static func certificates(_ path: String, _ key: String, remedy: String) throws -> [NIOSSLCertificate] {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CredentialFileError(description: "\(key): \(path) does not exist or cannot be read: \(remedy)")
        }
        return try check("\(key): \(path) contains no certificate in PEM: \(remedy)") {
            try NIOSSLCertificate.fromPEMFile(path)
        }
    }
}

extension APNsApp {
    enum LoadedCredential {
        case key(SigningKey)
        case certificate([NIOSSLCertificate], NIOSSLPrivateKey)

        func credential(trust: String?) -> PoolPlan.Credential {
            let trusted = trust.flatMap { FileManager.default.contents(atPath: $0) }
            switch self {
            case .key(let key):
                return .init(
                    signingKey: key.key.publicKey, certificates: [], privateKey: nil, trust: trusted)
            case .certificate(let chain, let key):
                return .init(signingKey: nil, certificates: chain, privateKey: key, trust: trusted)
            }
        }

        var signingKey: SigningKey? {
            guard case .key(let key) = self else { return nil }
            return key
        }
    }

    /// Identifies the credential. Apps with the same key share connections, but a certificate belongs to one app.
    var credentialName: String {
        switch credential {
        case .key(let id, let team, _): SigningKey.name(id: id, team: team)
        case .certificate: name
        }
    }

    /// The error in the app's key, or in its certificate and the certificate's key. Nil if they can be parsed, or if
    /// this process cannot read the secret. This method does not check that a certificate and its key belong together.
    func credentialError() -> TransportError? {
        guard credential.secret.isReadable else { return nil }
        do {
            _ = try revealed()
            return nil
        } catch {
            if let mistake = error as? SettingsError { return TransportError(mistake) }
            return TransportError("app \(name): \(error)", isOfConfiguration: true)
        }
    }

    fileprivate func revealed() throws -> LoadedCredential {
        switch credential {
        case .key(let id, let team, let secret):
            let pem = try secret.reveal()
            return .key(
                try secret.check("is not a .p8 key from Apple") { try SigningKey(id: id, team: team, pem: pem) })
        case .certificate(let path, let secret):
            let pem = Array(try secret.reveal().utf8)
            return .certificate(
                try CredentialFileError.certificates(path, "certificate", remedy: "set certificate to another file"),
                try secret.check("is not a private key in PEM") { try NIOSSLPrivateKey(bytes: pem, format: .pem) })
        }
    }
}
