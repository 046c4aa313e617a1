import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct RequestTests {
    @Test func `a request comes with its method, path, query, headers and body`() async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        client.send("POST /a%20b?c=d&e HTTP/1.1\r\nhost: x\r\nx-one: 1\r\ncontent-length: 5\r\n\r\nhello")
        #expect(await client.answers(1).hasSuffix("hello"))
        let request = try #require(rig.requests.withLock { $0.first })
        #expect(request.method == .post && request.path == "/a%20b" && request.query == "c=d&e")
        #expect(request.headers[HTTPField.Name("x-one")!] == "1")
        #expect(request.body == Array("hello".utf8) && request.client == "127.0.0.1" && request.id == nil)
        try await rig.stop()
    }

    @Test func `the chunks of a body come in their order, and before the next request`() async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        let body = String(repeating: "0123456789", count: 500)
        let chunks = body.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
        client.send("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: Chunked\r\n\r\n" + chunks)
        client.get("/next")
        #expect(await client.statuses(2) == [200, 200])
        #expect(rig.requests.withLock { $0.map(\.body) } == [Array(body.utf8), []])
        try await rig.stop()
    }

    @Test func `a request whose body is not needed is answered as soon as its head has come`() async throws {
        let rig = try await ServerRig {
            $0.needsBody = { $0.path == "/a" && $0.query == "b" && $0.header("x-key") == ["1"] }
        }
        let expecting = "host: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n"
        for start in ["POST /a HTTP/1.1\r\nx-key: 1\r\n", "POST /a?b HTTP/1.1\r\nx-key: 2\r\n"] {
            let client = try rig.connect()
            client.send("\(start)\(expecting)\r\n")
            let answer = await client.answers(1)
            #expect(RawClient.statuses(in: answer) == [200] && answer.lowercased().contains("connection: close\r\n"))
        }
        let client = try rig.connect()
        client.send("POST /a?b HTTP/1.1\r\nX-Key: 1\r\n\(expecting)\r\n")
        #expect(await client.statuses(1) == [100])
        client.send("hello")
        #expect(await client.answers(1).hasSuffix("hello"))
        #expect(rig.requests.withLock { $0.map(\.body) } == [[], [], Array("hello".utf8)])
        try await rig.stop()
    }

    /// RFC 9112, section 9.3.2: Pipelining.
    @Test func `requests that come together are answered in their order`() async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        for number in 1...9 { client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n\(number)") }
        let text = await client.answers(9)
        #expect(text.matches(of: #/\r\n\r\n([0-9])/#).compactMap { Int($0.1) }.prefix(8) == [1, 2, 3, 4, 5, 6, 7, 8])
        try await rig.stop()
    }

    /// RFC 9110, sections 9.3.2 and 10.1.1; RFC 9112, section 3.2.2.
    @Test func `the answer to HEAD has no body, Expect is answered, and a target may be absolute`() async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        client.send("HEAD / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc")
        client.get("http://x/there?q=1")
        client.send("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n")
        #expect(await client.statuses(3) == [200, 200, 100])
        client.send("b")
        #expect(await client.answers(1).hasSuffix("b"))
        let request = try #require(rig.requests.withLock { $0.dropFirst().first })
        #expect(request.path == "/there" && request.query == "q=1")
        #expect(rig.log.all.first?.bodyBytes == 0)
        try await rig.stop()
    }

    @Test func `Expect is answered with 100 up to the limit of the path, and with 413 above it`() async throws {
        let rig = try await ServerRig {
            $0.limits.bodyBytesMax = 1
            $0.bodyBytesMax = { $0 == "/large" ? 2 : nil }
        }
        let client = try rig.connect()
        client.send("POST /large?q HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        #expect(await client.statuses(1) == [100])
        client.send("bb")
        #expect(await client.answers(1).hasSuffix("bb"))
        let other = try rig.connect()
        other.send("POST /large?q HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n")
        #expect(await other.statuses(1) == [413])
        try await rig.stop()
    }

    @Test(arguments: ["HTTP/1.0\r\n\r\n", "HTTP/1.1\r\nhost: x\r\nconnection: Close\r\n\r\n"])
    func `if a client wants the connection closed, the answer has "connection: close"`(rest: String) async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        client.send("GET / " + rest)
        #expect(await client.rest().lowercased().contains("connection: close\r\n"))
        try await rig.stop()
    }

    @Test func `a request whose body ends early is not handled`() async throws {
        let rig = try await ServerRig()
        let (whole, half, otherHalf) = (try rig.connect(), try rig.connect(), try rig.connect())
        for client in [half, otherHalf] { client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\na") }
        half.closeSending()
        _ = await half.rest()
        otherHalf.closeSending()
        _ = await otherHalf.rest()
        whole.get("/whole")
        #expect(await whole.statuses(1) == [200])
        #expect(rig.requests.withLock { $0.map(\.path) } == ["/whole"])
        try await rig.stop()
    }

    @Test func `thousands of requests that are sent at once are answered or refused in order`() async throws {
        let rig = try await ServerRig { $0.limits.targetBytesMax = 1 }
        let client = try rig.connect()
        let statuses = Array(repeating: 414, count: 10_000) + (0..<1_000).map { $0 % 2 == 0 ? 414 : 200 }
        let requests = statuses.map { "GET /\($0 == 414 ? "x" : "") HTTP/1.1\r\nhost:\r\n\r\n" }.joined()
        async let sent: Void = onThread {
            client.send(requests)
            client.closeSending()
        }
        #expect(RawClient.statuses(in: await client.rest()) == statuses)
        await sent
        try await rig.stop()
    }

    @Test func `each request gets an ID from the server`() async throws {
        let name = try #require(HTTPField.Name("x-request-id"))
        let rig = try await ServerRig { options in
            let counter = Counter()
            options.requestIDs = RequestIDs(header: name) { "id-\(counter.next())" }
        }
        let client = try rig.connect()
        client.get("/", "x-request-id: mine\r\n")
        client.get("/")
        let text = await client.answers(2)
        #expect(text.contains("x-request-id: id-1\r\n") && text.contains("x-request-id: id-2\r\n"), "\(text)")
        #expect(rig.requests.withLock { $0.map(\.id) } == ["id-1", "id-2"])
        #expect([try await rig.log.next(), try await rig.log.next()].map(\.requestID) == ["id-1", "id-2"])
        try await rig.stop()
    }

    @Test func `a log entry describes its request, but contains none of the request's secrets`() async throws {
        let rig = try await ServerRig()
        let client = try rig.connect()
        client.send(
            "POST /path?query-secret HTTP/1.1\r\nhost: host-secret\r\ncookie: header-secret\r\ncontent-length: 11\r\n\r\n"
                + "body-secret")
        _ = await client.statuses(1)
        let entry = try await rig.log.next()
        #expect(!String(reflecting: entry).contains("secret"), "\(entry)")
        #expect(entry.method == "POST" && entry.path == "/path" && entry.status == 200 && entry.bodyBytes == 11)
        #expect(entry.client == "127.0.0.1" && entry.isComplete && entry.duration > .zero)
        try await rig.stop()
    }

    @Test func `the log and the responder get the client's address that a proxy has added`() async throws {
        let rig = try await ServerRig { $0.forwardedClient = { $0[.cookie] } }
        for (header, address) in [("cookie: 192.0.2.1\r\n", "192.0.2.1"), ("", "127.0.0.1")] {
            let client = try rig.connect()
            client.get("/", header)
            #expect(await client.statuses(1) == [200])
            #expect(try await rig.log.next().client == address)
            #expect(rig.requests.withLock { $0.last?.client } == address)
        }
        try await rig.stop()
    }

    @Test func `a port in use is reported with the remedy`() async throws {
        let rig = try await ServerRig()
        let address = ListenAddress(host: "127.0.0.1", port: rig.server.port)
        let error = await #expect(throws: ListenError.self) {
            _ = try await WebServer.start(WebServerOptions(address)) { _ in WebResponse(status: .ok) }
        }
        #expect(error?.description.hasPrefix("\(address): port in use: another process listens there") == true)
        #expect(error?.description.hasSuffix("stop it or choose another `listen`") == true)
        await #expect(throws: ListenError.self) { try await WebServer.checkCanListen(at: address) }
        try await rig.stop()
        try await WebServer.checkCanListen(at: address)
    }
}

final class Counter: Sendable {
    private let last = Atomic(0)
    func next() -> Int { last.add(1, ordering: .relaxed).newValue }
}
