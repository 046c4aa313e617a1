import Glibc
import ZeroMQ

/// The keys of the connecting side.
package struct ClientKeys: Sendable {
    package let own: CurveKeyPair
    /// The other side must have one of these keys. There are two while the other side changes its key.
    package let servers: [CurvePublicKey]

    package init(own: CurveKeyPair, servers: [CurvePublicKey]) { (self.own, self.servers) = (own, servers) }
}

/// Why the other side refuses a connection.
package enum ConnectionRefusal: Sendable, Hashable {
    case keyNotListed(String)
    case keyRequired
    case serverHasNoKeys
    /// The other side closed the connection during the handshake. It has another key, or is just starting or ending.
    case otherServerKey([String])

    /// Whether only a changed setting can help.
    package var isCertain: Bool {
        if case .otherServerKey = self { return false }
        return true
    }
}

/// A connecting socket that finds out why a connection is refused, and connects again.
///
/// libzmq 4.3 gives up a connection when the other side refuses the client's key, and it can expect only one server key
/// on a connection. After a refusal, this socket is opened again after a pause. If the server may have the other of two
/// keys, this socket is opened again at once with that key.
///
/// While there is no connection, the socket takes only messages that are sent with `wait`. It follows the state of the
/// connection itself: with libzmq's own option for this, `ZMQ_IMMEDIATE`, libzmq 4.3 aborts the process if a connection
/// is lost while a message of several frames is received (`Assertion failed: !_more (src/fq.cpp:112)`).
package final class ClientSocket: MessageSocket {
    private static let pause = Duration.milliseconds(500)
    /// After this many closed connections in a row, the refusal says that the other side has another key. A smaller
    /// number proves nothing, because a process that starts or ends also closes connections.
    private static let reportedHangUps = 3

    private let socket: ZMQSocket
    private var monitor: ZMQMonitor
    private let keys: ClientKeys?
    private var endpoint = ""
    private var serverKeyIndex = 0
    private var hangUps = 0
    private var redialAt: ContinuousClock.Instant?
    private var refusal: ConnectionRefusal?
    private var isConnected = false

    package init(_ context: HostContext, _ keys: ClientKeys?, _ options: ZMQSocketOptions) throws(ZMQError) {
        socket = try ZMQSocket(context.zmq, .dealer, options)
        monitor = try ClientSocket.monitor(of: socket)
        self.keys = keys
    }

    package var lastEndpoint: String { socket.lastEndpoint }

    /// Fails at once if this process may not connect to the endpoint's socket file. libzmq would try again for ever.
    package func connect(_ endpoint: String) throws(ZMQError) {
        self.endpoint = endpoint
        if let path = SocketFiles.forbiddenPath(of: endpoint) {
            throw ZMQError(
                code: EACCES, operation: "connect", endpoint: endpoint,
                detail:
                    "no permission to connect to \(path); run as the user who runs the stage, or set `data.mode` so that "
                    + "the group may write, too, as in 0770")
        }
        if let keys { try socket.useCurveClient(keys.own, serverKey: keys.servers[serverKeyIndex]) }
        try socket.connect(endpoint)
    }

    package func send(_ frames: [UnsafeRawBufferPointer], wait: Bool) throws(ZMQError) -> ZMQSendResult {
        guard try isReady(wait: wait) else { return .full }
        return try socket.send(frames, wait: wait)
    }

    package func send(_ frames: [[UInt8]], wait: Bool) throws(ZMQError) -> ZMQSendResult {
        guard try isReady(wait: wait) else { return .full }
        return try socket.send(frames, wait: wait)
    }

    package func receive(into message: ZMQMultipart, wait: Bool) throws(ZMQError) -> ZMQReceiveResult {
        try socket.receive(into: message, wait: wait)
    }

    package func close() {
        monitor.stop()
        socket.close()
    }

    package func add(to poller: ZMQPoller) -> Int { poller.add(socket, .readable) }

    package func checkConnection(at time: ContinuousClock.Instant) throws(ZMQError) -> ConnectionRefusal? {
        try noteEvents(at: time)
        if let redialAt, time >= redialAt { try redial() }
        return refusal
    }

    private func isReady(wait: Bool) throws(ZMQError) -> Bool {
        // Connections inside a process have no events, and are never lost.
        if wait || endpoint.hasPrefix("inproc://") { return true }
        try noteEvents(at: .now)
        return isConnected
    }

    private func noteEvents(at time: ContinuousClock.Instant) throws(ZMQError) {
        while let event = try monitor.next(wait: false) { note(event, at: time) }
    }

    private func note(_ event: ZMQMonitor.Event, at time: ContinuousClock.Instant) {
        isConnected = event.kind == .handshakeSucceeded
        if event.kind == .disconnected { return }
        if event.kind == .handshakeSucceeded {
            (refusal, redialAt, hangUps) = (nil, nil, 0)
        } else if event.kind == .authenticationFailed {
            refuse(.keyNotListed(keys?.own.publicKey.z85 ?? ""), at: time)
        } else if event.isMechanismMismatch {
            refuse(keys == nil ? .keyRequired : .serverHasNoKeys, at: time)
        } else if let keys {
            hangUps += 1
            if hangUps >= ClientSocket.reportedHangUps { refusal = .otherServerKey(keys.servers.map(\.z85)) }
            guard keys.servers.count > 1 else { return }
            serverKeyIndex = (serverKeyIndex + 1) % keys.servers.count
            redialAt = time
        }
    }

    private func refuse(_ refusal: ConnectionRefusal, at time: ContinuousClock.Instant) {
        self.refusal = refusal
        redialAt = time + ClientSocket.pause
    }

    private func redial() throws(ZMQError) { try move(to: endpoint) }

    package func move(to new: String) throws(ZMQError) {
        (redialAt, refusal, hangUps) = (nil, new == endpoint ? refusal : nil, new == endpoint ? hangUps : 0)
        monitor.stop()
        try socket.reopen()
        monitor = try ClientSocket.monitor(of: socket)
        isConnected = false
        try connect(new)
    }

    private static func monitor(of socket: ZMQSocket) throws(ZMQError) -> ZMQMonitor {
        try ZMQMonitor(socket, [.disconnected, .handshakeSucceeded, .handshakeFailed, .authenticationFailed])
    }
}
