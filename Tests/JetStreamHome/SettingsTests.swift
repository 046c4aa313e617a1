import Glibc
import NATS
import PipelineKit
import TestSupport
import Testing

@testable import JetStreamHome

/// How the settings of a pipeline file become those of a connection.
@Suite struct HomeSettingsTests {
    private static let folder = "/tmp"

    private func home(_ settings: String) throws -> HomeSettings {
        let file = try PipelineFile.parse(
            "pipeline: a\nlog: {home: jetstream, \(settings)}\nstages: {s: {}}\n", file: "p.yaml",
            folder: Self.folder, registry: Registry())
        return try #require(file.log.home)
    }

    @Test(arguments: [
        ("servers: [http://n1]", "log.servers: 'http://n1' is not the address of a server"),
        ("servers: ['nats://me:hush@n1']", "log.servers: 'nats://…@n1' is not the address of a server: it contains"),
        ("servers: [nats://n1], credentials: {$env: A}", "cannot be used for 'credentials'"),
    ])
    func `settings that cannot work are refused before any connection`(settings: String, error: String) throws {
        let found = #expect(throws: SettingsError.self) { try JetStreamHome.check(try home(settings)) }
        let text = "\(try #require(found))"
        #expect(text.contains(error) && !text.contains("hush"))
    }

    @Test func `a secret that is missing or cannot be used is refused, without its text`() throws {
        let folder = try Folder()
        try folder.write("not a seed", to: "seed")
        chmod(folder.file("seed"), 0o600)
        for (settings, reason) in [
            ("nkey: {$file: \(folder.file("seed"))}", "the nkey seed is not one word"),
            ("nkey: {$file: \(folder.file("missing"))}", "missing"),
            ("credentials: {$file: \(folder.file("missing"))}", "missing"),
            ("user: a, password: {$env: BELFRY_NO_SUCH_VARIABLE}", "BELFRY_NO_SUCH_VARIABLE"),
        ] {
            let settings = try home("servers: [nats://n1], \(settings)")
            let found = #expect(throws: SettingsError.self) {
                _ = try JetStreamHome(settings, pipeline: "a", say: { _ in })
            }
            let text = "\(try #require(found))"
            #expect(text.contains(reason) && !text.contains("not a seed"), "\(text)")
        }
    }

    @Test func `TLS and replicas reach the connection`() throws {
        let settings = try home(
            "servers: [tls://n1:4443, nats://n2], replicas: 5, tls: {ca: ca.pem, certificate: c.pem, key: k.pem}")
        let connection = try JetStreamHome.check(settings)
        #expect(connection.servers.map(\.description) == ["tls://n1:4443", "nats://n2:4222"] && settings.replicas == 5)
        #expect(connection.trust?.authorities == "/tmp/ca.pem")
        #expect(connection.trust?.identity == NATSTrust.Identity(certificate: "/tmp/c.pem", key: "/tmp/k.pem"))
    }
}
