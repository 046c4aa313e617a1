import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    @Test(arguments: [
        ("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\n", "413 bodyTooLong"),
        ("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9223372036854775808\r\n\r\n", "413 bodyTooLong"),
        ("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 101\r\n\r\n", "413 bodyTooLong"),
        (
            "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n65\r\n\(String(repeating: "x", count: 101))",
            "413 bodyTooLong"
        ),
        ("GET /\(String(repeating: "x", count: 100)) HTTP/1.1\r\nhost: x\r\n\r\n", "414 targetTooLong"),
        ("GET / HTTP/1.1\r\nhost: x\r\nlong: \(String(repeating: "x", count: 1000))", "431 headTooLong"),
        ("GET / HTTP/1.1\r\nhost x\r\n\r\n", "400 malformed"),
        ("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnone\r\n", "400 malformed"),
        ("GET / HT", "400 malformed"),
        ("GET / HTTP/1.1\r\n\r\n", "400 malformed"),
        ("GET / HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n", "400 malformed"),
        ("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400 malformed"),
        ("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n", "400 malformed"),
        ("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "400 malformed"),
    ])
    func `a request that is too long or malformed is refused`(request: String, answer: String) async throws {
        let rig = try await ServerRig(Self.restrict)
        let client = try rig.connect()
        client.send(request)
        if answer == "400 malformed" || answer.hasPrefix("414") { client.closeSending() }
        let text = await client.rest()
        #expect(text.hasPrefix("HTTP/1.1 \(answer.prefix(3)) ") && text.hasSuffix(answer), "\(text)")
        #expect(rig.requests.withLock { $0.isEmpty })
        try await rig.stop()
    }

    /// RFC 9112, sections 3.2 and 9.3.2.
    @Test func `a request without Host is refused after the answer to the request before it`() async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        client.send("GET /first HTTP/1.1\r\nhost: x\r\n\r\nGET /second HTTP/1.1\r\n\r\n")
        #expect(RawClient.statuses(in: await client.rest()) == [200, 400])
        #expect(rig.requests.withLock { $0.map(\.path) } == ["/first"])
        try await rig.stop()
    }

    @Test func `a too long request that ends inside its body gets one refusal and no other answer`() async throws {
        let rig = try await ServerRig {
            $0.limits.bodyBytesMax = 100
            $0.refuse = { refusal, _, _ in WebResponse(status: refusal.status, body: ServerRig.big) }
        }
        for _ in 0..<10 {
            let client = try rig.connect()
            client.send(Self.tooLongRequest)
            // The refusal and the end of the input reach the connection in either order.
            client.closeSending()
            let statuses = RawClient.statuses(in: await client.rest())
            #expect(statuses == [413] || statuses == [400], "\(statuses)")
        }
        try await rig.stop()
    }

    @Test func `the end of the input during a refusal causes no second answer`() async throws {
        let rig = try await ServerRig {
            $0.limits.bodyBytesMax = 100
            $0.refuse = { refusal, _, _ in WebResponse(status: refusal.status, body: ServerRig.big) }
        }
        let client = try rig.connect()
        client.send(Self.tooLongRequest)
        let begun = await client.answers(1)
        client.closeSending()
        #expect(RawClient.statuses(in: begun + (await client.rest())) == [413])
        try await rig.stop()
    }

    @Test func `a client that sends its whole request before it reads gets the refusal, not a reset`() async throws {
        let rig = try await ServerRig { $0.limits.bodyBytesMax = 100 }
        let rest = String(repeating: "x", count: 16 << 20)
        for (start, status) in [
            ("content-length: 16777216\r\n\r\n", 413), ("transfer-encoding: chunked\r\n\r\n1000000\r\n", 413),
            ("transfer-encoding: chunked\r\n\r\nnone\r\n", 400), ("long: ", 431),
        ] {
            let client = try rig.connect()
            #expect(await onThread { client.send("POST / HTTP/1.1\r\nhost: x\r\n\(start)\(rest)") }, "\(status)")
            #expect(RawClient.statuses(in: await client.rest()) == [status])
        }
        try await rig.stop()
    }

    @Test func `a client that goes on sending after a refusal is disconnected`() async throws {
        let rig = try await ServerRig {
            $0.limits.bodyBytesMax = 100
            $0.limits.drainWait = .milliseconds(100)
        }
        let client = try rig.connect()
        client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n")
        while await onThread({ client.send("x") }) { try await Task.sleep(for: .milliseconds(5)) }
        try await rig.stop()
    }

    private static let tooLongRequest = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 101\r\n\r\nx"

    private static func restrict(_ options: inout WebServerOptions) {
        options.limits.bodyBytesMax = 100
        options.limits.targetBytesMax = 100
        options.limits.headBytesMax = 1000
        options.refuse = { (refusal: WebServerRefusal, _: HTTPFields, _: String?) -> WebResponse in
            let text = "\(refusal.status.code) \(refusal)"
            return WebResponse(status: refusal.status, body: text.utf8)
        }
    }

    @Test func `a body of the maximum length is accepted`() async throws {
        let rig = try await ServerRig { $0.limits.bodyBytesMax = 100 }
        let client = try rig.connect()
        client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n\(String(repeating: "x", count: 100))")
        #expect(await client.statuses(1) == [200])
        try await rig.stop()
    }

    @Test func `a path may have its own limit for the body of a request`() async throws {
        let rig = try await ServerRig {
            $0.limits.bodyBytesMax = 100
            $0.bodyBytesMax = { $0 == "/large" ? 200 : nil }
        }
        for (path, length, status) in [("/large", 200, 200), ("/large", 201, 413), ("/", 101, 413)] {
            let client = try rig.connect()
            let body = String(repeating: "x", count: length)
            client.send("POST \(path)?a=b HTTP/1.1\r\nhost: x\r\ncontent-length: \(length)\r\n\r\n\(body)")
            #expect(await client.statuses(1) == [status], "\(path) \(length)")
        }
        try await rig.stop()
    }

    @Test func `a connection above the limit is closed, and other connections continue`() async throws {
        let rig = try await ServerRig { ($0.limits.connectionsMax, $0.limits.limitsEachClient) = (2, false) }
        var clients = [try rig.connect(), try rig.connect()]
        for client in clients {
            client.get("/")
            #expect(await client.statuses(1) == [200])
        }
        #expect(await (try rig.connect()).rest() == "")
        clients.removeLast().closeSending()
        clients[0].get("/")
        #expect(await clients[0].statuses(1) == [200])
        var freed: [Int] = []
        while freed.isEmpty {
            let client = try rig.connect()
            client.get("/")
            freed = await client.statuses(1)
        }
        #expect(freed == [200])
        try await rig.stop()
    }

    @Test func `one client gets at most a quarter of the connections, and other clients get the rest`() async throws {
        let rig = try await ServerRig { $0.limits.connectionsMax = 8 }
        func status(from source: String) async throws -> [Int] {
            let client = try rig.connect(from: source)
            client.get("/")
            return await client.statuses(1)
        }
        var idle = try (0..<2).map { _ in try rig.connect(from: "127.0.0.1") }
        for client in idle {
            client.get("/")
            #expect(await client.statuses(1) == [200])
        }
        #expect(try await status(from: "127.0.0.1") == [])
        #expect(try await status(from: "127.0.0.2") == [200])
        idle.removeLast()
        while try await status(from: "127.0.0.1").isEmpty {}
        try await rig.stop()
    }

    @Test func `the limit of open files, less 100, also limits the connections, but never to fewer than 10`() {
        var limits = WebServerLimits()
        #expect(limits.connectionsMax(openFilesMax: .max) == 10_000)
        #expect(limits.connectionsMax(openFilesMax: 1024) == 924)
        #expect(limits.connectionsMax(openFilesMax: 50) == 10)
        limits.connectionsMax = 2
        #expect(limits.connectionsMax(openFilesMax: 50) == 2)
    }

    @Test(arguments: ["", "GET / HT", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\na"])
    func `a client that sends no complete request in time is disconnected`(part: String) async throws {
        let rig = try await ServerRig { $0.limits.requestWait = .milliseconds(100) }
        let client = try rig.connect()
        client.send(part)
        #expect(await client.rest() == "")
        client.send("x")
        #expect(rig.requests.withLock { $0.isEmpty })
        let idle = try rig.connect()
        idle.get("/")
        #expect(await idle.rest().hasPrefix("HTTP/1.1 200 "))
        try await rig.stop()
    }

    @Test func `a client that waits for an answer is not disconnected`() async throws {
        let rig = try await ServerRig { options in
            options.limits.requestWait = .milliseconds(50)
            options.limits.responseWait = .milliseconds(50)
        }
        let (waiting, idle) = (try rig.connect(), try rig.connect())
        waiting.get("/held")
        let held = try await rig.heldRequests.next()
        #expect(await idle.rest() == "")
        held.end("late")
        #expect(await waiting.answers(1).hasSuffix("late"))
        try await rig.stop()
    }

    @Test func `a client that does not read the answer in time is disconnected`() async throws {
        let rig = try await ServerRig { $0.limits.responseWait = .milliseconds(100) }
        let client = try rig.connect()
        client.get("/big")
        let entry = try await rig.log.next()
        #expect(entry.status == 200 && !entry.isComplete && entry.bodyBytes == ServerRig.big.count)
        #expect(await client.rest().utf8.count < ServerRig.big.count)
        try await rig.stop()
    }

    @Test func `whenAnswered is called after the last byte of the answer was sent`() async throws {
        let events = ValueRecorder<String>()
        let options = WebServerOptions(host: "127.0.0.1", port: 0)
        let server = try await WebServer.start(options) { request in
            request.whenAnswered { events.add("answered " + request.path) }
            events.add("asked " + request.path)
            return WebResponse(status: .ok, body: request.path == "/big" ? ServerRig.big : [])
        }
        let (slow, quick) = (try RawClient(port: server.port), try RawClient(port: server.port))
        slow.get("/big", "connection: close\r\n")
        #expect(try await events.next() == "asked /big")
        quick.get("/small", "connection: close\r\n")
        _ = await quick.rest()
        #expect([try await events.next(), try await events.next()] == ["asked /small", "answered /small"])
        #expect(await slow.rest().utf8.count > ServerRig.big.count)
        #expect(try await events.next() == "answered /big")
        try await server.stop(within: .seconds(30))
    }
}
