import Access
import Foundation
import TestSupport
import Testing

@testable import WebServices

/// Tests which bodies the gateway reads, and how many bytes of bodies it holds at once.
@Suite("The bodies that the gateway reads", .serialized, .timeLimit(.minutes(3)))
struct BodyTests {
    private static let lookup = "/database/1/\(GatewayRig.container)/development/public/records/lookup"
    private static let signature =
        "X-Apple-CloudKit-Request-KeyID: none\r\nX-Apple-CloudKit-Request-SignatureV1: AAAA\r\n"
        + "X-Apple-CloudKit-Request-ISO8601Date: 2026-11-20T09:30:00Z\r\n"

    @Test func `a request without a valid key, or to an unknown address, is refused before its body is sent`()
        async throws
    {
        let folder = try Folder()
        let file = AccessKeyFile(path: folder.file("keys.json"))
        let token = try Self.makeToken(in: file)
        try await GatewayRig.with(", keys: \(file.path)") { rig in
            func client(_ target: String, _ headers: String) throws -> RawClient {
                let client = try rig.connectRawClient()
                client.send("POST \(target) HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\(headers)")
                client.send("content-length: \(RequestBody.bytesMax)\r\n\r\n")
                return client
            }
            for (target, headers, status, text) in [
                (Self.lookup, "", 401, "ckAPIToken: the request has neither an API token in its query nor a signature"),
                (Self.lookup + "?ckAPIToken=wrong", "", 401, "ckAPIToken: it is not a token of this gateway"),
                (Self.lookup, Self.signature, 401, "X-Apple-CloudKit-Request-KeyID: there is no server-to-server key"),
                ("/nowhere", "", 404, "could not find handler for endpoint"),
                ("/assets/none", "", 403, "this service did not issue the address"),
            ] {
                let client = try client(target, headers)
                let begun = await client.answers(1)
                client.closeSending()
                let answer = begun + (await client.rest())
                #expect(RawClient.statuses(in: answer) == [status] && answer.contains(text), "\(answer)")
            }
            #expect(await (try client(Self.lookup + "?ckAPIToken=\(token)", "")).statuses(1) == [100])
        }
    }

    @Test func `a sign-in has at most 16,384 bytes`() async throws {
        try await GatewayRig.with { rig in
            let client = try rig.connectRawClient()
            client.send(
                "POST /auth/1/\(GatewayRig.container)/development/signin HTTP/1.1\r\nhost: localhost\r\n"
                    + "content-length: 16385\r\n\r\n")
            #expect(await client.statuses(1) == [413])
        }
    }

    private static func makeToken(in file: AccessKeyFile) throws -> String {
        let draft = KeyDraft(
            name: "web", scope: KeyScope(container: GatewayRig.container), kind: .api(signInURL: nil))
        let made = try file.edit(orBeginningWith: AccessKeys(SystemRandom.bytes)) { keys throws(AccessKeyError) in
            try keys.create(draft, at: .wall(), SystemRandom.bytes)
        }
        return try #require(made.token)
    }

    @Test
    func `the bodies on all connections of a client take at most a quarter of the room, and a further body is refused`()
        async throws
    {
        try await GatewayRig.with { rig in
            let byteCount = RequestBody.bytesMax - 1
            let connectionCount = WebService.heldBodyBytesMax / 4 / byteCount + 1
            let connections = try (0..<connectionCount).map { _ in try rig.connectRawClient() }
            let request =
                "POST \(Self.lookup)?ckWebAuthToken=_alice HTTP/1.1\r\nhost: localhost\r\n"
                + "content-length: \(RequestBody.bytesMax)\r\n\r\n\(String(repeating: " ", count: byteCount))"
            for connection in connections { _ = await onThread { connection.send(request) } }
            let answers = await withTaskGroup(of: String.self) { group in
                for connection in connections { group.addTask { await connection.rest() } }
                var answers = [await group.next() ?? ""]
                // The connections that were not refused end their requests without the last byte.
                for connection in connections { connection.closeSending() }
                for await answer in group { answers.append(answer) }
                return answers.filter { !$0.hasPrefix("HTTP/1.1 400 ") }
            }
            #expect((1..<connectionCount).contains(answers.count))
            for answer in answers {
                #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.lowercased().contains("retry-after: 1\r\n"))
                #expect(answer.contains(#""serverErrorCode":"TRY_AGAIN_LATER""#), "\(answer)")
                #expect(answer.contains(#""retryAfter":1"#) && answer.contains("no room for the body"), "\(answer)")
            }
            #expect(try await rig.modify("create", "n1").status == 200)
        }
    }

    @Test func `the address of an upload takes one file at a time`() async throws {
        try await GatewayRig.with { rig in
            let upload = try await rig.post(
                "private/assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"picture"}]}"#)
            let ticket = try #require(upload["tokens.0.url"]?.split(separator: "/").last)
            let client = try rig.connectRawClient()
            client.send("POST /assets/\(ticket) HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n")
            client.send("content-length: 7\r\n\r\n")
            #expect(await client.statuses(1) == [100])
            // The first request must claim the address before the second one comes.
            try await Task.sleep(for: .milliseconds(300))
            var second = try await rig.send("POST", "/assets/\(ticket)", Data("picture".utf8))
            while second.status == 200 {
                second = try await rig.send("POST", "/assets/\(ticket)", Data("picture".utf8))
            }
            #expect(second.status == 503 && second["serverErrorCode"] == "TRY_AGAIN_LATER", "\(second)")
            #expect(second["reason"]?.hasPrefix("another request sends a file to this address") == true)
            client.send("picture")
            #expect(await client.statuses(1) == [200])
            #expect(try await rig.send("POST", "/assets/\(ticket)", Data("picture".utf8)).status == 200)
        }
    }
}
