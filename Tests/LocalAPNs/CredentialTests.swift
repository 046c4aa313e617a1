import Foundation
import TestSupport
import Testing

@testable import LocalAPNs

struct CredentialTests {
    private let folder: Folder
    private var options = LocalAPNs.Configuration()

    init() throws {
        folder = try Folder()
        options.folder = folder.file("server")
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(options.folder)/\(name)", encoding: .utf8)
    }

    private static let names = ["ca.pem", "ca-key.pem", "AuthKey_KEYLOCAL12.p8", "client.pem", "client-key.pem"]

    @Test func `keys and certificates are made once and kept`() throws {
        _ = try Credentials(options)
        let first = try CredentialTests.names.map(text)
        _ = try Credentials(options)
        #expect(try CredentialTests.names.map(text) == first)
        #expect(first[2].hasPrefix("-----BEGIN PRIVATE KEY-----"))
    }

    @Test func `only the owner can read a key`() throws {
        _ = try Credentials(options)
        for name in CredentialTests.names {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(options.folder)/\(name)")
            let isKey = name.hasSuffix("key.pem") || name.hasSuffix(".p8")
            #expect(attributes[.posixPermissions] as? Int == (isKey ? 0o600 : 0o644), "\(name)")
        }
    }

    @Test mutating func `a client certificate is made anew for another topic`() throws {
        _ = try Credentials(options)
        let (authority, client) = (try text("ca.pem"), try text("client.pem"))
        options.topic = "com.example.Mail"
        _ = try Credentials(options)
        #expect(try text("client.pem") != client)
        #expect(try text("ca.pem") == authority)
    }

    @Test func `certificates are renewed before they expire`() throws {
        _ = try Credentials(options)
        let (authority, client) = (try text("ca.pem"), try text("client.pem"))
        _ = try Credentials(options, now: Date().addingTimeInterval(370 * 86_400))
        #expect(try text("client.pem") != client)
        #expect(try text("ca.pem") == authority)
        _ = try Credentials(options, now: Date().addingTimeInterval(3300 * 86_400))
        #expect(try text("ca.pem") != authority)
    }

    @Test mutating func `a key file that is broken or missing is reported`() throws {
        options.keyPath = try folder.write("no key", to: "AuthKey.p8")
        let path = folder.file("AuthKey.p8")
        #expect(
            throws: StartError.content(path: path, reason: "contains no P-256 private key in PEM")
        ) { try Credentials(options) }
        options.keyPath = folder.file("absent")
        #expect(throws: StartError.missing(path: folder.file("absent"))) {
            try Credentials(options)
        }
    }
}
