import Glibc
import TestSupport
import Testing

@testable import NATS

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct ReconnectTests {
    @Test func `a publish without a connection fails at once, and is not sent later`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        let subscription = try connection.subscribe("a.*")
        servers.end(0, with: SIGKILL)
        try wait { !connection.isConnected }
        let start = ContinuousClock.now
        #expect(throws: NATSError.notConnected) { try connection.publish(NATSMessage("a.lost")) }
        #expect(throws: NATSError.notConnected) { try connection.request(NATSMessage("a.lost"), atMost: testLimit) }
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(connection.server == nil)
        try servers.start(0)
        try wait { connection.isConnected }
        try connection.publish(NATSMessage("a.new"))
        #expect(subscription.inbox.next().map(\.subject) == ["a.new"])
    }

    @Test func `a request in flight ends when the connection is lost`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        let subscription = try connection.subscribe("silent")
        let reply = try connection.ask(NATSMessage("silent"))
        #expect(subscription.inbox.next().count == 1)
        servers.end(0, with: SIGKILL)
        #expect(throws: NATSError.connectionLost) { try reply.wait(atMost: testLimit) }
    }

    @Test func `a client of a cluster goes on with another server`() throws {
        let servers = try NATSServers(3)
        let connection = try NATSConnection(servers)
        let other = try #require(try otherThan(connection, servers))
        let observer = try NATSConnection(NATSSettings(servers: [other]))
        let subscription = try observer.subscribe("a")
        try observer.flush(atMost: testLimit)
        let first = try #require(connection.server)
        servers.end(try #require(servers.addresses.firstIndex(of: first.description)), with: SIGKILL)
        try wait { connection.isConnected && connection.server != first }
        try wait {
            try connection.publish(NATSMessage("a"))
            return !subscription.inbox.take().isEmpty
        }
    }

    private func otherThan(_ connection: NATSConnection, _ servers: NATSServers) throws -> ServerAddress? {
        try servers.addresses.map { try ServerAddress($0) }.first { $0 != connection.server }
    }

    @Test func `a client leaves a server that no longer answers`() throws {
        let servers = try NATSServers()
        let connection = try NATSConnection(servers)
        servers.pause(0)
        try wait { !connection.isConnected }
        servers.resume(0)
        try wait { connection.isConnected }
    }

    /// Otherwise the server would take the bytes of the next message for the end of the incomplete one.
    @Test func `after an incomplete write nothing more is written to the same socket`() throws {
        let servers = try NATSServers()
        let proxy = try TCPProxy(to: servers.port(0))
        defer { proxy.stop() }
        var settings = try NATSSettings(servers: ["nats://127.0.0.1:\(proxy.port)"])
        (settings.writeTimeout, settings.pingInterval) = (.milliseconds(50), .milliseconds(50))
        settings.unansweredPingsMax = 100
        let connection = try NATSConnection(settings)
        let subscription = try connection.subscribe("b")
        try connection.flush(atMost: testLimit)
        proxy.arm(TCPProxy.Fault(.toServer, after: 1000, .stall))
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 8 << 20)
        #expect(throws: NATSError.writeStalled) { try connection.publish(NATSMessage("a", body: body)) }
        try wait { connection.isConnected }
        try connection.publish(NATSMessage("b"))
        #expect(subscription.inbox.next().count == 1)
        proxy.release()
        try wait { !proxy.lostBytes.isEmpty }
        try connection.flush(atMost: testLimit)
        proxy.stop()
        #expect(proxy.lostBytes.count < body.count && proxy.lostBytes.allSatisfy { $0 == UInt8(ascii: "x") })
    }
}
