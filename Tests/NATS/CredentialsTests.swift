import Foundation
import TestSupport
import Testing

@testable import NATS

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct CredentialsTests {
    private static let password = #"se"sa\me ü"#

    private func check(_ servers: NATSServers, right: NATSCredentials, wrong: [NATSCredentials]) throws {
        let connection = try NATSConnection(servers) { $0.credentials = right }
        try connection.flush(atMost: testLimit)
        for credentials in wrong {
            let error = try #require(throws: NATSError.self) {
                try NATSConnection(servers) { $0.credentials = credentials }
            }
            guard case .authorizationFailed = error else {
                Issue.record("\(error)")
                continue
            }
            for secret in ["sesame", "alice", Self.password, TestTokens.userSeed, TestTokens.otherSeed] {
                #expect(!"\(error)".contains(secret) && !String(reflecting: error).contains(secret))
            }
        }
    }

    @Test func `a user with the right password is let in, others are not`() throws {
        let quoted = Self.password.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let servers = try NATSServers(
            configuration: "authorization { users: [{user: \"alice\", password: \"\(quoted)\"}] }")
        try check(
            servers, right: .user("alice", password: Self.password),
            wrong: [
                .none, .user("alice", password: "sesame"), .user("bob", password: Self.password), .token("sesame"),
                .user("alice\",\"x\":\"", password: "\\"),
            ])
    }

    @Test func `a token is let in, another is not`() throws {
        let servers = try NATSServers(configuration: "authorization { token: \"open sesame\" }")
        try check(servers, right: .token("open sesame"), wrong: [.none, .token("sesame")])
    }

    @Test func `the seed of a known nkey is let in, another is not`() throws {
        let servers = try NATSServers(configuration: "authorization { users: [{nkey: \(TestTokens.userKey)}] }")
        try check(
            servers, right: .nkey(try NKeySeed(TestTokens.userSeed)),
            wrong: [.none, .nkey(try NKeySeed(TestTokens.otherSeed))])
    }

    @Test func `a credentials file is let in, one with another seed is not`() throws {
        let servers = try NATSServers(hasJetStream: false, configuration: TestTokens.configuration)
        let folder = try Folder()
        let right = try folder.write(TestTokens.credentials(), to: "right.creds")
        let wrong = try folder.write(TestTokens.credentials(seed: TestTokens.otherSeed), to: "wrong.creds")
        try check(servers, right: .file(right), wrong: [.none, .file(wrong)])
        let missing = try #require(throws: NATSError.self) {
            try NATSConnection(servers) { $0.credentials = .file(folder.file("none.creds")) }
        }
        #expect("\(missing)" == "NATS: cannot read \(folder.file("none.creds")): No such file or directory")
        try folder.write("sesame", to: "empty.creds")
        let empty = try #require(throws: NATSError.self) {
            try NATSConnection(servers) { $0.credentials = .file(folder.file("empty.creds")) }
        }
        #expect(!"\(empty)".contains("sesame"))
    }

    /// libnats gives a connection up after two refusals.
    @Test func `a client whose user was removed for a while connects again`() throws {
        let user = "authorization { users: [{user: alice, password: sesame}] }"
        let servers = try NATSServers(configuration: user)
        let connection = try NATSConnection(servers) { $0.credentials = .user("alice", password: "sesame") }
        let subscription = try connection.subscribe("a")
        try servers.restart(0, configuration: user.replacing("alice", with: "bob"))
        // The first loss is the restart. At the next one, libnats gives up.
        try wait { connection.lostConnections > 1 }
        try wait { connection.isRefused }
        #expect(throws: NATSError.notConnected) { try connection.publish(NATSMessage("a")) }
        try servers.restart(0, configuration: user)
        try wait { connection.isConnected }
        #expect(!connection.isRefused)
        try connection.publish(NATSMessage("a"))
        #expect(subscription.inbox.next().count == 1)
    }
}

@Suite(
    .serialized, .enabled(if: NATSServers.areTested, NATSServers.missing),
    .enabled(if: TestCertificates.isPossible, "openssl is missing: apt-get install openssl"))
struct TLSTests {
    /// A server with a certificate for 127.0.0.1. The server asks clients for a certificate.
    private struct Secured {
        let server: TestCertificates
        let client: TestCertificates
        let servers: NATSServers

        init() throws {
            (server, client) = (try TestCertificates(), try TestCertificates())
            try server.make(commonName: "server")
            try client.make(commonName: "client")
            servers = try NATSServers(
                configuration: """
                    tls { cert_file: "\(server.certificate)", key_file: "\(server.key)", \
                    ca_file: "\(client.certificate)", verify: true }
                    """)
        }

        var identity: NATSTrust.Identity { .init(certificate: client.certificate, key: client.key) }
    }

    @Test func `a client with the right authority and certificate is let in`() throws {
        let secured = try Secured()
        let trust = NATSTrust(authorities: secured.server.certificate, identity: secured.identity)
        let connection = try NATSConnection(secured.servers) { $0.trust = trust }
        let subscription = try connection.subscribe("a")
        let body = [UInt8](repeating: 7, count: 3_000_000)
        try connection.publish(NATSMessage("a", body: body))
        #expect(subscription.inbox.next().map(\.body) == [body])
        #expect(try connection.serverInfo(atMost: testLimit).name == "n1")
    }

    @Test func `a server that the authorities do not vouch for, or with another name, is refused`() throws {
        let secured = try Secured()
        let other = try TestCertificates()
        try other.make(commonName: "server")
        for authorities in [nil, other.certificate] {
            let trust = NATSTrust(authorities: authorities, identity: secured.identity)
            let error = try #require(throws: NATSError.self) {
                try NATSConnection(secured.servers) { $0.trust = trust }
            }
            guard case .tlsFailed = error else {
                Issue.record("\(error)")
                continue
            }
        }
        // The certificate is for 127.0.0.1, not for localhost.
        var settings = try NATSSettings(servers: ["tls://localhost:\(secured.servers.port(0))"])
        settings.trust = NATSTrust(authorities: secured.server.certificate, identity: secured.identity)
        let error = try #require(throws: NATSError.self) { try NATSConnection(settings) }
        #expect("\(error)".contains("mismatch"))
    }

    @Test func `a client without its certificate is refused`() throws {
        let secured = try Secured()
        #expect(throws: NATSError.self) {
            try NATSConnection(secured.servers) { $0.trust = NATSTrust(authorities: secured.server.certificate) }
        }
    }

    @Test func `a client that requires TLS does not talk to a server without TLS`() throws {
        let servers = try NATSServers()
        let error = try #require(throws: NATSError.self) {
            try NATSConnection(servers) { $0.trust = NATSTrust() }
        }
        #expect("\(error)".contains("does not offer TLS"))
    }

    @Test func `a certificate or key that cannot be used is an error that names the file`() throws {
        let secured = try Secured()
        let folder = try Folder()
        let bad = try folder.write("sesame", to: "bad.pem")
        let cases: [NATSTrust] = [
            NATSTrust(authorities: folder.file("none.pem")), NATSTrust(authorities: bad),
            NATSTrust(identity: .init(certificate: bad, key: secured.client.key)),
            NATSTrust(identity: .init(certificate: secured.client.certificate, key: secured.server.key)),
        ]
        for trust in cases {
            let error = try #require(throws: NATSError.self) {
                try NATSConnection(secured.servers) { $0.trust = trust }
            }
            guard case .invalidCertificate(let file, _) = error else {
                Issue.record("\(error)")
                continue
            }
            #expect("\(error)".contains(file) && !"\(error)".contains("sesame"))
        }
    }
}
