import Foundation
import PipelineKit
import Signing
import TestSupport
import Testing

@testable import TransportWebhook

@Suite struct WebhookSignatureTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private static let key = Data((0..<24).map { UInt8($0) })
    private static let newKey = Data((0..<64).map { UInt8(255 - $0) })

    /// Writes a secret to a file.
    ///
    /// - Returns: The setting that names the file.
    private func secret(_ name: String, _ text: String) throws -> String {
        let path = try folder.write(text + "\n", to: name)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return "{$file: \(path)}"
    }

    private func secret(_ name: String, _ key: Data) throws -> String {
        try secret(name, "whsec_" + key.base64EncodedString())
    }

    private static func signature(_ request: TestServer.Request, _ key: Data) -> String {
        let text =
            "\(request.headers["webhook-id"] ?? "").\(request.headers["webhook-timestamp"] ?? "").\(request.body)"
        return "v1,\(Data(HMAC.code(of: [Array(text.utf8)], key: Array(key))).base64EncodedString())"
    }

    // The expected signature was made with Python's hmac and base64.
    @Test func `a signature follows Standard Webhooks`() throws {
        let settings = try webhookSettings("url: http://x\nsecret: \(try secret("s", Self.key))")
        let signatures = try WebhookSigner(settings.secrets).signatures(
            id: "976ec45b-c157-8d46-a9cc-0123456789ab", timestamp: 1_795_000_000, body: Array(#"{"payload":{}}"#.utf8))
        #expect(signatures == "v1,5bP++9nG2N+JmLymKaE84ba7nSj2VJ6ENkL0DSZtmF0=")
    }

    @Test func `a secret that is changed in its file is used after the next change of settings`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let setting = "secret: \(try secret("s", Self.key))"
        let rig = try await Rig(server, setting)
        #expect(await rig.deliverUntilFinal(push(1)).outcome == .accepted)
        _ = try secret("s", Self.newKey)
        let settings = "url: \(server.url)/other\nprivateNetworks: allow\n\(setting)"
        let change = try #require(try await rig.transport.change(to: webhookSettings(settings)))
        #expect(change.descriptions == ["posts to another url", "signs with another secret"])
        await change.apply()
        #expect(await rig.deliverUntilFinal(push(2)).outcome == .accepted)
        // Nil: an open transport cannot change its `concurrency`.
        #expect(
            try await rig.transport.change(to: webhookSettings(settings + "\nconcurrency: 3")).map { _ in true } == nil)
        await rig.transport.close()
        let requests = server.requests
        #expect(
            requests.map { $0.headers["webhook-signature"] }
                == zip(requests, [Self.key, Self.newKey]).map(Self.signature))
    }

    @Test func `a request has a signature for each secret, in the order of the secrets`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let secrets = [try secret("new", Self.newKey), try secret("old", Self.key)].joined(separator: ", ")
        let rig = try await Rig(server, "secret: [\(secrets)]")
        _ = await rig.deliver(push(1))
        let request = try #require(server.requests.first)
        #expect(request.headers["webhook-timestamp"] == "1795000000")
        #expect(
            request.headers["webhook-signature"]
                == [Self.newKey, Self.key].map { Self.signature(request, $0) }.joined(separator: " "))
        await rig.transport.close()
    }

    @Test func `each attempt is signed with its own time and the push's id`() async throws {
        let server = TestServer { _, before in .status(before == 0 ? 503 : 200) }
        defer { server.stop() }
        let rig = try await Rig(server, "secret: \(try secret("s", Self.key))")
        #expect(await rig.deliver(push(1)).map(\.outcome) == [.deferred])
        rig.clock.advance(by: .seconds(1))
        #expect(await rig.deliver(push(1, attempts: 1)).map(\.outcome) == [.accepted])
        #expect(server.requests.map { $0.headers["webhook-timestamp"] } == ["1795000000", "1795000001"])
        #expect(Set(server.requests.map { $0.headers["webhook-id"] }) == ["id-1_alice-mac"])
        for request in server.requests {
            #expect(request.headers["webhook-signature"] == Self.signature(request, Self.key))
        }
        await rig.transport.close()
    }

    @Test func `without a secret, requests have no signature`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let rig = try await Rig(server)
        _ = await rig.deliver(push(1))
        #expect(server.requests.map { $0.headers["webhook-signature"] } == [nil])
        await rig.transport.close()
    }

    @Test(arguments: ["whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not-base64!"])
    func `an invalid secret is refused at open, and not shown`(text: String) async throws {
        let settings = try webhookSettings("url: http://x\nsecret: \(try secret("s", text))")
        let error = await #expect(throws: TransportError.self) { try await Rig(settings).transport.open() }
        #expect(error?.reason.contains("\(folder.path)/s does not contain whsec_") == true)
        #expect(error?.reason.contains(text.dropFirst(6)) == false)
    }

    @Test(arguments: [
        "whsec_inline", "[]", "[{$env: A}, {$env: A}, {$env: A}, {$env: A}, {$env: A}]", "[whsec_inline]",
    ])
    func `a secret in the settings themselves, an empty list and more than four secrets are refused`(text: String) {
        #expect(throws: PipelineFileError.self) { try webhookSettings("url: http://x\nsecret: \(text)") }
    }
}
