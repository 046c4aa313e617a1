import CZeroMQ
import Glibc
import Synchronization

/// Reports what happens to the connections of one socket.
///
/// A monitor belongs to the socket's thread. Events stay in memory until they are received.
package final class ZMQMonitor {
    package struct Events: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }

        package static let disconnected = Events(rawValue: ZMQ_EVENT_DISCONNECTED)
        package static let handshakeSucceeded = Events(rawValue: ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
        /// The other side broke the protocol, the two sides differ in encryption, or the connection ended during the
        /// handshake.
        package static let handshakeFailed = Events(
            rawValue: ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        /// The client's key is not in the server's list; see ``ClientAuthorization``. After this, the client's libzmq
        /// (4.3) does not try to connect again.
        package static let authenticationFailed = Events(rawValue: ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        package static let all = Events(rawValue: ZMQ_EVENT_ALL)
    }

    package struct Event: Sendable {
        package let kind: Events
        /// The meaning depends on the kind: for example a file descriptor, an errno or a protocol error of libzmq.
        package let value: UInt32
        package let endpoint: String

        /// Whether only one of the two sides encrypts. After this, the client's libzmq (4.3) does not try to connect
        /// again.
        package var isMechanismMismatch: Bool {
            kind.rawValue == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
                && value == UInt32(ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        }
    }

    /// The socket to add to a ``ZMQPoller``. Receive its events with ``next(wait:)``.
    package let socket: ZMQSocket
    private let watched: ZMQSocket
    private let message = ZMQMultipart()
    private static let serial = Atomic(0)

    package init(_ watched: ZMQSocket, _ events: Events = .all) throws(ZMQError) {
        let endpoint = "inproc://monitor-\(Self.serial.add(1, ordering: .relaxed).newValue)"
        self.watched = watched
        // The queue has no limit, because libzmq's I/O thread would block on a full queue.
        socket = try ZMQSocket(watched.context, .pair, ZMQSocketOptions().with { $0.receiveHighWaterMessages = 0 })
        guard unsafe zmq_socket_monitor(try watched.openHandle("monitor"), endpoint, events.rawValue) == 0 else {
            throw .last("monitor", endpoint: endpoint)
        }
        try socket.connect(endpoint)
    }

    deinit { stop() }

    /// Ends the monitoring. Must be called before the watched socket is closed. Otherwise libzmq's I/O thread would
    /// block on events that nobody receives. Further calls do nothing.
    package func stop() {
        guard unsafe socket.handle != nil else { return }
        if let handle = unsafe watched.handle { unsafe zmq_socket_monitor(handle, nil, 0) }
        socket.close()
    }

    /// The next event. Nil if no event is waiting and `wait` is false, or if the received message is not an event.
    package func next(wait: Bool = true) throws(ZMQError) -> Event? {
        guard try socket.receive(into: message, wait: wait) == .received else { return nil }
        // Frame 1: 16-bit event, 32-bit value, in this machine's byte order; frame 2: the endpoint.
        guard message.count == 2, unsafe message[0].count == 6 else { return nil }
        let kind = unsafe message[0].loadUnaligned(as: UInt16.self)
        let value = unsafe message[0].loadUnaligned(fromByteOffset: 2, as: UInt32.self)
        return unsafe Event(
            kind: Events(rawValue: Int32(kind)), value: value, endpoint: String(decoding: message[1], as: UTF8.self))
    }
}

@available(*, unavailable, message: "a monitor belongs to the thread of its socket")
extension ZMQMonitor: Sendable {}
