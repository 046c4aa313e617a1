import PipelineKit
import Synchronization
import TestSupport
import Testing
import Time

@testable import TransportWebhook

@Suite struct WebhookTransportTests {
    @Test func `a push is posted unchanged, with its id and the settings' headers`() async throws {
        let server = TestServer { _, _ in .status(204) }
        defer { server.stop() }
        let rig = try await Rig(server, "headers: {authorization: Bearer x}")
        #expect(await rig.deliver(push(1)) == [TransportAnswer(push(1).id, .accepted, status: 204)])
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /pushes HTTP/1.1")
        #expect(request.body == String(decoding: push(1).line, as: UTF8.self))
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["webhook-id"] == "id-1_alice-mac")
        #expect(request.headers["authorization"] == "Bearer x")
        await rig.transport.close()
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func `a push is tried again after a temporary status, with growing waits`(status: Int) async throws {
        let server = TestServer { _, before in .status(before < 2 ? status : 200) }
        defer { server.stop() }
        let rig = try await Rig(server)
        var waits: [Duration] = []
        for attempts in 0..<2 {
            let answer = await rig.deliver(push(1, attempts: attempts))[0]
            #expect(answer.outcome == .deferred && answer.status == status && answer.attempts == 1)
            waits.append(try #require(answer.until) - rig.clock.now)
        }
        #expect(waits == [.milliseconds(100), .milliseconds(200)])
        #expect(await rig.deliver(push(1, attempts: 2)) == [TransportAnswer(push(1).id, .accepted, status: 200)])
    }

    @Test func `a push fails after its last attempt`() async throws {
        let server = TestServer { _, _ in .status(503) }
        defer { server.stop() }
        let answers = try await Rig(server).deliver(push(1, attempts: 2))
        #expect(answers == [TransportAnswer(push(1).id, .failed, status: 503, reason: "Service Unavailable")])
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [400, 401, 403, 404, 407, 410, 413])
    func `a push is not tried again after a final status`(status: Int) async throws {
        let server = TestServer { _, _ in .status(status, headers: ["www-authenticate": "Basic realm=\"x\""]) }
        defer { server.stop() }
        let answers = try await Rig(server).deliver(push(1))
        #expect(answers.map(\.status) == [status])
        #expect(answers.map(\.outcome) == [.failed])
        #expect(answers.allSatisfy { $0.reason?.isEmpty == false })
        #expect(server.requests.count == 1)
    }

    @Test func `the reason in an answer is recorded, and nothing else of its body`() async throws {
        let bodies = [#"{"reason":"BadDeviceToken"}"#, #"{"token":"t"}"#, "t"]
        let server = TestServer { _, before in .status(400, body: bodies[before]) }
        defer { server.stop() }
        let answers = try await Rig(server).deliver(push(1), push(2), push(3))
        #expect(answers.map(\.reason) == ["BadDeviceToken", "Bad Request", "Bad Request"])
    }

    @Test func `redirects are not followed`() async throws {
        let server = TestServer { _, _ in .status(302, headers: ["location": "/elsewhere"]) }
        defer { server.stop() }
        let answers = try await Rig(server).deliver(push(1))
        #expect(answers.map(\.status) == [302])
        #expect(server.requests.map(\.line) == ["POST /pushes HTTP/1.1"])
    }

    @Test(arguments: [("7", 7), ("999999", 3_600), ("soon", 0.1), ("0", 0.1)])
    func `the server's Retry-After can lengthen the usual wait to at most an hour, and is ignored if it is invalid`(
        asked: String, seconds: Double
    ) async throws {
        let server = TestServer { _, _ in .status(429, headers: ["retry-after": asked]) }
        defer { server.stop() }
        let rig = try await Rig(server, "backoff: 100ms")
        #expect(await rig.deliver(push(1)).map(\.until) == [rig.clock.now.advanced(by: .seconds(seconds))])
    }

    @Test func `a push is deferred after a dropped connection, and may arrive twice`() async throws {
        let server = TestServer { _, _ in .drop }
        defer { server.stop() }
        let answer = try await Rig(server).deliver(push(1))[0]
        #expect(answer.outcome == .deferred && answer.attempts == 1 && answer.mayRepeat)
    }

    @Test func `a push to a server that does not run is deferred, and fails after its last attempt`() async throws {
        let rig = try await Rig(url: "http://127.0.0.1:1/", "attempts: 2")
        let first = await rig.deliver(push(1))[0]
        #expect(first.outcome == .deferred && first.attempts == 1 && !first.mayRepeat)
        let last = await rig.deliver(push(1, attempts: 1))[0]
        #expect(last.outcome == .failed && last.status == nil && last.reason?.contains("connect") == true)
    }

    @Test func `a push is deferred if its answer does not come in time, and may arrive twice`() async throws {
        let server = TestServer { _, _ in .silence }
        defer { server.stop() }
        let answer = try await Rig(server, "timeout: 100ms").deliver(push(1))[0]
        #expect(answer.outcome == .deferred && answer.attempts == 1 && answer.mayRepeat)
    }

    @Test func `the reason of a timeout names the timeout`() async throws {
        let server = TestServer { _, _ in .silence }
        defer { server.stop() }
        let answers = try await Rig(server, "timeout: 100ms\nattempts: 1").deliver(push(1))
        #expect(answers == [TransportAnswer(push(1).id, .failed, reason: "no answer within 100ms")])
    }

    @Test func `a status counts even if the body of the answer never ends`() async throws {
        let server = TestServer { _, _ in .unfinished(200) }
        defer { server.stop() }
        let answers = try await Rig(server, "timeout: 2s").deliver(push(1))
        #expect(answers == [TransportAnswer(push(1).id, .accepted, status: 200)])
    }

    @Test func `a line that is no push, or has a control character in its apns-id, fails unsent`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let id = Delivery.ID(push: 1, device: "mac")
        let injecting = #"{"user":"_bob","headers":{"apns-id":"1\r\nauthorization: me"}}"#
        for line in ["{}", "no json", injecting, injecting.replacing(#"\r\n"#, with: #"\u007f"#)] {
            let answers = try await Rig(server).deliver(Delivery(id: id, transport: "hook", line: Array(line.utf8)))
            #expect(answers.map(\.outcome) == [.failed])
        }
        #expect(server.requests.isEmpty)
    }
}
