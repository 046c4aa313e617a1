import TestSupport
import Testing

@testable import HTTPServer

/// Tests the limits on the bodies that a server holds at once.
@Suite(.timeLimit(.minutes(5))) struct HeldBodiesTests {
    enum End: CaseIterable { case answered, refused, disconnected, timedOut }

    @Test(arguments: End.allCases)
    func `a body is refused while other bodies take its room, and accepted after they are gone`(end: End) async throws {
        let rig = try await ServerRig {
            Self.restrict(&$0, heldBodyBytesMax: 120)
            if end == .timedOut { $0.limits.requestWait = .milliseconds(100) }
        }
        var holder: RawClient? = try rig.connect()
        holder?.send(Self.chunked + Self.chunk(99))
        try await Task.sleep(for: .milliseconds(300))
        if end != .timedOut {
            for isChunked in [true, false] {
                let refusal = try await sendBodies(to: rig, until: 503, isChunked: isChunked)
                #expect(refusal.lowercased().contains("retry-after: 1\r\n") && refusal.hasSuffix("tooManyBodies"))
            }
        }
        switch end {
        case .answered:
            holder?.send(Self.chunk(1) + "0\r\n\r\n")
            #expect(await holder?.statuses(1) == [200])
        case .refused:
            holder?.send(Self.chunk(2))
            #expect(await holder?.statuses(1) == [413])
        case .disconnected: holder = nil
        case .timedOut: #expect(await holder?.rest() == "")
        }
        try await sendBodies(to: rig, until: 200)
        try await rig.stop()
    }

    @Test func `a body is held until its request is answered`() async throws {
        let rig = try await ServerRig { Self.restrict(&$0, heldBodyBytesMax: 120) }
        let client = try rig.connect()
        client.send("POST /held HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n" + Self.text(99))
        let held = try await rig.heldRequests.next()
        #expect(RawClient.statuses(in: try await send(to: rig)) == [503])
        held.end("done")
        #expect(await client.answers(1).hasSuffix("done"))
        #expect(RawClient.statuses(in: try await send(to: rig)) == [200])
        try await rig.stop()
    }

    @Test
    func `a body whose announced length does not fit is refused unread, but announced bytes take no room`()
        async throws
    {
        let rig = try await ServerRig { Self.restrict(&$0, heldBodyBytesMax: 120) }
        var announcing = try (0..<3).map { _ in try rig.connect() }
        for client in announcing {
            client.send("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n")
            #expect(await client.statuses(1) == [100])
        }
        #expect(RawClient.statuses(in: try await send(to: rig)) == [200])
        announcing[0].send(Self.text(99))
        try await Task.sleep(for: .milliseconds(300))
        try await sendBodies(to: rig, until: 503)
        let other = try rig.connect()
        other.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n")
        #expect(await other.statuses(1) == [503])
        announcing = []
        try await rig.stop()
    }

    @Test func `one client's bodies get at most a quarter of the room, and other clients get the rest`() async throws {
        let rig = try await ServerRig {
            Self.restrict(&$0, heldBodyBytesMax: 400)
            $0.limits.limitsEachClient = true
        }
        let holder = try rig.connect(from: "127.0.0.1")
        holder.send(Self.chunked + Self.chunk(99))
        try await Task.sleep(for: .milliseconds(300))
        try await sendBodies(to: rig, until: 503, from: "127.0.0.1")
        #expect(RawClient.statuses(in: try await send(to: rig, from: "127.0.0.2")) == [200])
        holder.send(Self.chunk(1) + "0\r\n\r\n")
        #expect(await holder.statuses(1) == [200])
        #expect(RawClient.statuses(in: try await send(to: rig, from: "127.0.0.1")) == [200])
        try await rig.stop()
    }

    @Test func `behind a proxy, a client is known by the address that the proxy added`() async throws {
        let rig = try await ServerRig {
            Self.restrict(&$0, heldBodyBytesMax: 400)
            ($0.limits.limitsEachClient, $0.forwardedClient) = (true, WebServerOptions.lastForwardedClient)
        }
        let holder = try rig.connect()
        holder.send(
            "POST / HTTP/1.1\r\nhost: x\r\n\(Self.forwarded("6.6.6.6, 192.0.2.1"))transfer-encoding: chunked\r\n\r\n"
                + Self.chunk(99))
        try await Task.sleep(for: .milliseconds(300))
        try await sendBodies(to: rig, until: 503, header: Self.forwarded("192.0.2.1"))
        for other in [Self.forwarded("192.0.2.1, 192.0.2.2"), ""] {
            #expect(RawClient.statuses(in: try await send(to: rig, header: other)) == [200])
        }
        holder.send(Self.chunk(1) + "0\r\n\r\n")
        #expect(await holder.statuses(1) == [200])
        try await rig.stop()
    }

    @Test func `a path with a limit of its own takes one request at a time`() async throws {
        let rig = try await ServerRig {
            Self.restrict(&$0, heldBodyBytesMax: 1000)
            $0.bodyBytesMax = { $0.hasPrefix("/large") ? 200 : nil }
        }
        let first = try rig.connect()
        first.send("POST /large?a HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 150\r\n\r\n")
        #expect(await first.statuses(1) == [100])
        try await Task.sleep(for: .milliseconds(300))
        let refusal = try await sendBodies(to: rig, "/large", until: 503)
        #expect(refusal.hasSuffix("pathInUse") && refusal.lowercased().contains("retry-after: 1\r\n"))
        #expect(RawClient.statuses(in: try await send(to: rig, "/large2")) == [200])
        first.send(Self.text(150))
        #expect(await first.statuses(1) == [200])
        #expect(RawClient.statuses(in: try await send(to: rig, "/large")) == [200])
        try await rig.stop()
    }

    // MARK: Requests

    private static let chunked = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"

    private static func text(_ byteCount: Int) -> String { String(repeating: "x", count: byteCount) }

    private static func chunk(_ byteCount: Int) -> String {
        "\(String(byteCount, radix: 16))\r\n\(text(byteCount))\r\n"
    }

    private static func forwarded(_ addresses: String) -> String { "x-forwarded-for: \(addresses)\r\n" }

    private static func restrict(_ options: inout WebServerOptions, heldBodyBytesMax: Int) {
        options.limits.bodyBytesMax = 100
        (options.limits.heldBodyBytesMax, options.limits.limitsEachClient) = (heldBodyBytesMax, false)
        options.refuse = { refusal, _, _ in WebResponse(status: refusal.status, body: "\(refusal)".utf8) }
    }

    /// Sends a request with 50 bytes on a new connection.
    ///
    /// - Parameter header: A header field with its line end; may be empty.
    /// - Returns: The whole answer.
    private func send(
        to rig: ServerRig, _ path: String = "/", from source: String? = nil, header: String = "",
        isChunked: Bool = false
    ) async throws -> String {
        let client = try rig.connect(from: source)
        let start = "POST \(path) HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\(header)"
        client.send(
            isChunked
                ? "\(start)transfer-encoding: chunked\r\n\r\n\(Self.chunk(50))0\r\n\r\n"
                : "\(start)content-length: 50\r\n\r\n\(Self.text(50))")
        return await client.rest()
    }

    /// Calls ``send(to:_:from:header:isChunked:)`` again and again until an answer has the status `status`.
    ///
    /// - Returns: This answer.
    @discardableResult
    private func sendBodies(
        to rig: ServerRig, _ path: String = "/", until status: Int, from source: String? = nil, header: String = "",
        isChunked: Bool = false
    ) async throws -> String {
        var answer = ""
        while RawClient.statuses(in: answer) != [status] {
            answer = try await send(to: rig, path, from: source, header: header, isChunked: isChunked)
        }
        return answer
    }
}
