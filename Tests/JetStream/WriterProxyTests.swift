import NATS
import TestSupport
import Testing

@testable import JetStream

/// A proxy between writer and server cuts, loses and delays the bytes of publishes and acknowledgements.
@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct WriterProxyTests {
    /// A stream that is written through a proxy.
    private final class Route {
        let stream: TestStream
        let proxy: TCPProxy
        let writer: StreamWriter
        private(set) var texts: [String] = []

        /// - Parameter pingInterval: How often the client pings. Pings are bytes that a fault counts, too.
        init(pingInterval: Duration) throws {
            stream = try TestStream()
            proxy = try TCPProxy(to: stream.servers.port(0))
            let connection = try NATSConnection(["nats://127.0.0.1:\(proxy.port)"]) {
                ($0.pingInterval, $0.reconnectPause) = (pingInterval, .milliseconds(1))
            }
            var settings = StreamWriter.Settings()
            (settings.answerTimeout, settings.pause) = (.milliseconds(200), .milliseconds(2))
            writer = StreamWriter(connection, stream.name, name: WriterName(host: "a"), last: 0, settings: settings)
        }

        deinit { proxy.stop() }

        /// Publishes a message under a fault.
        ///
        /// - Returns: Whether the fault happened.
        func publish(under fault: TCPProxy.Fault) throws -> Bool {
            let text = "\(texts.count + 1): \(fault)"
            proxy.arm(fault)
            #expect(try writer.publish(stream.message(text)) == UInt64(texts.count + 1))
            texts.append(text)
            let hasHappened = proxy.hasHappened
            proxy.disarm()
            proxy.release()
            return hasHappened
        }

        /// Checks that each message is stored exactly once, also after all late messages have arrived.
        func check() throws {
            _ = try writer.publish(stream.message("last"))
            #expect(try stream.texts() == texts + ["last"])
        }
    }

    @Test(arguments: [TCPProxy.Direction.toServer, .toClient])
    func `a message is stored once if the connection is cut at any byte`(direction: TCPProxy.Direction) throws {
        let route = try Route(pingInterval: .seconds(60))
        var bytes = 0
        while bytes < 1000, try route.publish(under: TCPProxy.Fault(direction, after: bytes, .cut)) { bytes += 1 }
        // A publish is longer than an acknowledgement.
        #expect((direction == .toServer ? 150...500 : 50...200).contains(bytes))
        try route.check()
        print("\(bytes) cuts \(direction)")
    }

    @Test(arguments: [TCPProxy.Direction.toServer, .toClient], [TCPProxy.Action.lose, .hold])
    func `a message is stored once if bytes are lost, or come after the message was published again`(
        direction: TCPProxy.Direction, action: TCPProxy.Action
    ) throws {
        let route = try Route(pingInterval: .milliseconds(20))
        let step = Tier.value(direction == .toServer ? 29 : 13, full: 1)
        var bytes = Int(Seeded.ofThisRun % UInt64(step))
        while bytes < 300, try route.publish(under: TCPProxy.Fault(direction, after: bytes, action)) { bytes += step }
        #expect(bytes > 50)
        try route.check()
    }
}
