import Foundation
import NIOSSL
import PipelineKit

/// Which pools the settings' apps need, and which app uses which.
struct PoolPlans {
    private(set) var pools: [PoolPlan.Identity: PoolPlan] = [:]
    /// By number of the app.
    private(set) var poolOfApp: [PoolPlan.Identity] = []

    /// Reads keys and certificates.
    ///
    /// - Parameter token: The one that a key has.
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

    private static func tls(_ settings: APNsSettings, _ secret: APNsApp.Revealed) throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        if let trust = settings.trust {
            tls.trustRoots = .certificates(
                try Unreadable.certificates(
                    trust, "trust", remedy: "correct trust; Apple's own servers need none, so leave it out for them"))
        }
        if case .certificate(let chain, let key) = secret {
            tls.certificateChain = chain.map { .certificate($0) }
            tls.privateKey = .privateKey(key)
        }
        return try Unreadable.check("certificateKey is not the key of certificate") {
            try NIOSSLContext(configuration: tls)
        }
    }
}

/// A file of credentials that holds something else.
private struct Unreadable: Error, CustomStringConvertible {
    let description: String

    static func check<Content>(_ complaint: String, _ read: () throws -> Content) throws -> Content {
        do { return try read() } catch { throw Unreadable(description: complaint) }
    }

    /// - Parameter key: What names the file.
    static func certificates(_ path: String, _ key: String, remedy: String) throws -> [NIOSSLCertificate] {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw Unreadable(description: "\(key): \(path) is not there, or not to be read: \(remedy)")
        }
        return try check("\(key): \(path) holds no certificate in PEM: \(remedy)") {
            try NIOSSLCertificate.fromPEMFile(path)
        }
    }
}

extension APNsApp {
    enum Revealed {
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

    /// Tells credentials apart: apps of one team's key share connections, a certificate is one app's own.
    var credentialName: String {
        switch credential {
        case .key(let id, let team, _): SigningKey.name(id: id, team: team)
        case .certificate: name
        }
    }

    /// What is wrong with what the app's pushes are signed with, where that can be read here.
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

    fileprivate func revealed() throws -> Revealed {
        switch credential {
        case .key(let id, let team, let secret):
            let pem = try secret.reveal()
            return .key(
                try secret.check("is no .p8 key of Apple's") { try SigningKey(id: id, team: team, pem: pem) })
        case .certificate(let path, let secret):
            let pem = Array(try secret.reveal().utf8)
            return .certificate(
                try Unreadable.certificates(path, "certificate", remedy: "correct certificate"),
                try secret.check("is no private key in PEM") { try NIOSSLPrivateKey(bytes: pem, format: .pem) })
        }
    }
}
