import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

@Suite struct MovedSocketTests {
    private static let moves = 300
    private let options = ZMQSocketOptions().with { $0.reconnectInterval = .milliseconds(1) }

    @Test func `a moved socket receives whole messages, and only those of the server that it moved to`() throws {
        let servers = try [BusyServer(sends: 0), BusyServer(sends: 1)]
        defer { for server in servers { server.context.shutdown() } }
        let client = try ClientSocket(HostContext(), nil, options)
        defer { client.close() }
        let poller = ZMQPoller()
        poller.add(client)
        try client.connect(servers[0].endpoint)
        for move in 1...Self.moves {
            try receive(5, from: client, poller, onlyFrom: UInt8((move - 1) % 2))
            try client.move(to: servers[move % 2].endpoint)
        }
    }

    @Test func `a connection that is lost in the middle of a message does not end the process`() throws {
        let server = try BusyServer(sends: 0, messagesPerConnection: 500)
        defer { server.context.shutdown() }
        let client = try ClientSocket(HostContext(), nil, options)
        defer { client.close() }
        let poller = ZMQPoller()
        poller.add(client)
        try client.connect(server.endpoint)
        try receive(60_000, from: client, poller, onlyFrom: 0)
    }

    private func receive(_ count: Int, from client: ClientSocket, _ poller: ZMQPoller, onlyFrom server: UInt8) throws {
        let message = ZMQMultipart()
        for _ in 0..<count {
            try #require(try poller.poll(timeoutMilliseconds: 60_000) == 1)
            guard try client.receive(into: message, wait: false) == .received else { continue }
            #expect(message.count == BusyServer.frames)
            for frame in 0..<message.count { #expect(unsafe message[frame].elementsEqual([server])) }
        }
    }
}

/// Sends messages to its clients without a pause until its context is shut down.
private final class BusyServer: Sendable {
    static let frames = 5
    let context: ZMQContext
    let endpoint: String

    init(sends byte: UInt8, messagesPerConnection: Int = .max) throws {
        let port = try ReservedPort(forServer: true)
        let context = try ZMQContext()
        let endpoint = "tcp://127.0.0.1:\(port.number)"
        (self.context, self.endpoint) = (context, endpoint)
        _ = BackgroundThread {
            withExtendedLifetime(port) {
                let message = [[UInt8]](repeating: [byte], count: Self.frames)
                while let socket = try? ZMQSocket(context, .dealer) {
                    while (try? socket.bind(endpoint)) == nil { usleep(1_000) }
                    for _ in 0..<messagesPerConnection { guard (try? socket.send(message)) != nil else { return } }
                }
            }
        }
    }
}
