import CZeroMQ
import Glibc
import Testing

@testable import ZeroMQ

@Suite struct SocketTests {
    @Test func `the error for a taken port names the port and what to do`() throws {
        let context = try ZMQContext()
        let first = try ZMQSocket(context, .router)
        let second = try ZMQSocket(context, .router)
        try first.bind("tcp://127.0.0.1:*")
        let endpoint = first.lastEndpoint
        let error = try #require(throws: ZMQError.self) { try second.bind(endpoint) }
        #expect(error.code == EADDRINUSE)
        #expect(error.endpoint == endpoint)
        #expect(
            error.description == "ZeroMQ: bind \(endpoint): port in use: another process is bound to \(endpoint); "
                + "stop it or choose another `bind`")
        first.close()
    }

    @Test(arguments: [
        ("nonsense", EINVAL), ("tcp://127.0.0.1", EINVAL), ("bogus://x", EPROTONOSUPPORT), ("tcp://*:1\0", EINVAL),
        ("ipc://" + String(repeating: "x", count: 300), ENAMETOOLONG), ("ipc:///no/such/directory/s", ENOENT),
        ("tcp://192.0.2.1:9", EADDRNOTAVAIL), ("tcp://nosuchinterface:9", ENODEV), ("", EINVAL),
    ]) func `a wrong endpoint is an error that names the endpoint`(endpoint: String, code: Int32) throws {
        let socket = try ZMQSocket(ZMQContext(), .router)
        let error = try #require(throws: ZMQError.self) { try socket.bind(endpoint) }
        #expect(error.code == code)
        #expect(error.description.hasPrefix("ZeroMQ: bind \(endpoint): "))
    }

    @Test func `an endpoint that is not in use cannot be unbound`() throws {
        let pair = try Pair(.tcp)
        let endpoint = pair.bound.lastEndpoint
        try pair.bound.unbind(endpoint)
        #expect(throws: ZMQError.self) { try pair.bound.unbind(endpoint) }
    }

    @Test func `a socket accepts every option of ZMQSocketOptions`() throws {
        var options = ZMQSocketOptions()
        options.linger = .seconds(-1)
        options.sendHighWaterMessages = 0
        options.receiveHighWaterMessages = 10
        options.frameBytesMax = nil
        options.routingID = [UInt8](repeating: 1, count: 255)
        options.reconnectInterval = .milliseconds(5)
        options.reconnectIntervalMax = .seconds(1)
        _ = try ZMQSocket(ZMQContext(), .router, options)
        options.linger = .seconds(1 << 60)
        _ = try ZMQSocket(ZMQContext(), .dealer, options)
    }

    @Test(arguments: [(Duration.seconds(-1), Int32(-1)), (.zero, 0), (.milliseconds(20), 20)])
    func `the linger time is unlimited, zero or a duration`(linger: Duration, milliseconds: Int32) throws {
        let socket = try ZMQSocket(ZMQContext(), .push, ZMQSocketOptions().with { $0.linger = linger })
        var value: Int32 = 7
        var size = MemoryLayout<Int32>.size
        #expect(zmq_getsockopt(socket.handle, ZMQ_LINGER, &value, &size) == 0)
        #expect(value == milliseconds)
    }

    @Test(arguments: [[], [0], [0, 1], [UInt8](repeating: 1, count: 256)]) func `a bad routing ID is an error`(
        routingID: [UInt8]
    ) throws {
        let context = try ZMQContext()
        let error = #expect(throws: ZMQError.self) {
            try ZMQSocket(context, .dealer, ZMQSocketOptions().with { $0.routingID = routingID })
        }
        #expect(error?.code == EINVAL)
    }

    @Test func `durations are rounded up to milliseconds`() {
        #expect(Duration.microseconds(1).wholeMilliseconds == 1)
        #expect(Duration.milliseconds(1500).wholeMilliseconds == 1500)
        #expect(Duration.milliseconds(-1).wholeMilliseconds == 0)
        #expect(Duration.seconds(1 << 60).wholeMilliseconds == Int(Int32.max))
    }

    @Test func `a closed socket throws`() throws {
        let pair = try Pair()
        let poller = ZMQPoller()
        poller.add(pair.bound)
        pair.bound.close()
        pair.bound.close()
        #expect(pair.bound.lastEndpoint == "")
        let closed = [
            #expect(throws: ZMQError.self) { try pair.bound.send([[1]]) },
            #expect(throws: ZMQError.self) { try pair.bound.receive(into: ZMQMultipart()) },
            #expect(throws: ZMQError.self) { try pair.bound.bind("inproc://x") },
            #expect(throws: ZMQError.self) { try poller.poll() },
        ]
        #expect(closed.allSatisfy { $0?.code == ENOTSOCK })
    }

    @Test func `a socket used against its pattern throws`() throws {
        let request = try ZMQSocket(ZMQContext(), .req)
        #expect(try #require(throws: ZMQError.self) { try request.receive(into: ZMQMultipart()) }.code == EFSM)
        let pull = try ZMQSocket(ZMQContext(), .pull)
        #expect(try #require(throws: ZMQError.self) { try pull.send([[1]]) }.code == ENOTSUP)
    }
}

@Suite struct ContextTests {
    @Test func `a socket beyond its context's limit is an error`() throws {
        let context = try ZMQContext(maxSockets: 1)
        let socket = try ZMQSocket(context, .pair)
        let error = try #require(throws: ZMQError.self) { try ZMQSocket(context, .pair) }
        #expect(error.code == EMFILE)
        #expect(error.description.contains("too many open sockets"))
        socket.close()
    }

    @Test(arguments: [-1, 0, 32_001]) func `a socket limit out of range is an error`(limit: Int) {
        #expect(throws: ZMQError.self) { try ZMQContext(maxSockets: limit) }
    }

    @Test func `a context that was shut down makes no sockets and ends`() throws {
        let context = try ZMQContext()
        context.shutdown()
        context.shutdown()
        #expect(try #require(throws: ZMQError.self) { try ZMQSocket(context, .pair) }.isTerminated)
    }

    @Test func `a context with an unanswered inproc connection ends`() throws {
        let socket = try ZMQSocket(ZMQContext(maxSockets: 1), .dealer)
        try socket.connect("inproc://nobody")
        #expect(try socket.send([[1]]) == .sent)
        socket.context.shutdown()
    }

    @Test func `unsent messages do not delay the end of a context`() throws {
        let socket = try ZMQSocket(ZMQContext(), .push)
        try socket.connect("tcp://127.0.0.1:1")
        #expect(try socket.send([[1]]) == .sent)
    }

    @Test func `shutdown wakes a thread blocked in receive`() async throws {
        let context = try ZMQContext()
        let error = try await errorAfterShutdown(of: context) { socket in _ = try socket.receive(into: ZMQMultipart()) }
        #expect(error?.isTerminated == true)
    }

    @Test func `shutdown wakes a thread blocked in send`() async throws {
        let context = try ZMQContext()
        let error = try await errorAfterShutdown(of: context) { socket in _ = try socket.send([[1]]) }
        #expect(error?.isTerminated == true)
    }

    @Test func `shutdown wakes a thread blocked in poll`() async throws {
        let context = try ZMQContext()
        let error = try await errorAfterShutdown(of: context) { socket in
            let poller = ZMQPoller()
            poller.add(socket)
            _ = try poller.poll()
        }
        #expect(error?.isTerminated == true)
    }

    /// Runs `body` on a thread, shuts the context down when `body` is about to block, and returns the error that `body`
    /// throws.
    private func errorAfterShutdown(
        of context: ZMQContext, _ body: @escaping @Sendable (ZMQSocket) throws -> Void
    ) async throws -> ZMQError? {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        async let outcome = SocketThread.run(name: "blocked") { () -> ZMQError? in
            let socket = try ZMQSocket(context, .dealer)
            start.finish()
            do { try body(socket) } catch let error as ZMQError { return error }
            return nil
        }
        for await _ in started {}
        context.shutdown()
        return try await outcome
    }
}
