import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import TransportWebhook

/// Tests secrets in the url and in the values of headers.
@Suite struct WebhookSecretTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func secret(_ name: String, _ text: String) throws -> String {
        chmod(try folder.write(text + "\n", to: name), 0o600)
        return "{$file: \(folder.file(name))}"
    }

    @Test func `secrets are read from their files, and again when the settings are reloaded`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let text =
            "url: \(try secret("url", server.url + "/push?key=7"))\nprivateNetworks: allow\n"
            + "headers: {authorization: \(try secret("header", "Bearer one")), x-plain: y}"
        let rig = Rig(try webhookSettings(text))
        try await rig.transport.open()
        #expect(await rig.deliverUntilFinal(push(1)).outcome == .accepted)
        _ = try secret("header", "Bearer two")
        let change = try #require(try await rig.transport.change(to: webhookSettings(text)))
        #expect(change.descriptions == ["sends other headers"])
        await change.apply()
        #expect(await rig.deliverUntilFinal(push(2)).outcome == .accepted)
        await rig.transport.close()
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer one", "Bearer two"])
        #expect(server.requests.allSatisfy { $0.line.contains("?key=7 ") && $0.headers["x-plain"] == "y" })
    }

    @Test(arguments: [
        ("url", "http://10.0.0.7/?key=7", "10.0.0.7 is in a private network"),
        ("url", "https://user:key7@example.com/", "contains a user name or a password"),
        ("url", "key7", "expected an http or https URL"),
        ("header", "key7\r\nx: y", "contains a character that is not printable ASCII"),
    ])
    func `the error for a wrong url or header does not show the secret`(name: String, text: String, said: String)
        async throws
    {
        let url = name == "url" ? try secret("url", text) : "https://example.com/"
        let header = name == "header" ? try secret("header", text) : "plain"
        let settings = try webhookSettings("url: \(url)\nheaders: {authorization: \(header)}")
        let atOpen = try #require(throws: TransportError.self) { try WebhookTarget(settings) }
        let atCheck = try #require(settings.secretErrors().first as? TransportError)
        #expect(atOpen == atCheck && atOpen.isOfConfiguration)
        #expect(atOpen.reason.contains(said) && atOpen.reason.contains(folder.file(name)), "\(atOpen)")
        #expect(!atOpen.reason.contains("key7") && !atOpen.reason.contains("key=7"), "\(atOpen)")
    }

    @Test func `a wrong url in the settings is not repeated in the error`() throws {
        let error = try #require(throws: PipelineFileError.self) { try webhookSettings("url: htps://a:key7@x/") }
        #expect(error.description.contains("expected an http or https URL") && !error.description.contains("key7"))
    }
}
