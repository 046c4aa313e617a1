import CZeroMQ
import Glibc

/// What a socket is told before it binds or connects. `nil` leaves libzmq's default.
package struct ZMQSocketOptions: Sendable {
    /// How long unsent messages outlive ``ZMQSocket/close()``; a negative duration is for ever.
    package var linger: Duration = .zero
    /// Messages queued per peer before a send is refused; libzmq: 1000. 0 is without limit.
    package var sendHighWaterMessages: Int?
    /// Messages queued per peer before the network is no longer read; libzmq: 1000. 0 is without limit.
    package var receiveHighWaterMessages: Int?
    /// A peer that sends a larger frame is disconnected (not on `inproc`). `nil` is without limit.
    package var maxMessageBytes: Int? = 64 << 20
    /// The name a ROUTER knows this peer by: 1 to 255 bytes, the first not 0.
    package var routingID: [UInt8]?
    /// ROUTER: report a send to an unknown peer as ``ZMQSendResult/unreachable`` instead of dropping it.
    package var routerMandatory = true
    /// ROUTER: a new peer with a taken routing ID replaces the old one instead of being ignored.
    package var routerHandover = false
    /// Queue only for peers that completed their handshake; else a send before that is kept.
    package var immediate = false
    /// The first pause before connecting again; libzmq: 100 ms.
    package var reconnectInterval: Duration?
    /// The pause doubles up to this; libzmq: it does not grow.
    package var reconnectIntervalMax: Duration?
    /// How often to ask a peer for a sign of life (ZMTP PING); libzmq: never.
    package var heartbeatInterval: Duration?
    /// A peer silent for this long after a PING is disconnected; libzmq: the interval.
    package var heartbeatTimeout: Duration?
    /// How long the peer shall wait for our next sign of life; libzmq: not announced.
    package var heartbeatTTL: Duration?
    /// A connection that has not finished its handshake by then is closed; libzmq: 30 s.
    package var handshakeTimeout: Duration?
    package var tcpKeepalive: Bool?
    package var tcpKeepaliveIdleSeconds: Int?
    package var tcpKeepaliveIntervalSeconds: Int?
    package var tcpKeepaliveCount: Int?
    package var ipv6 = false

    package init() {}

    /// The same options with some of them changed.
    package func with(_ change: (inout ZMQSocketOptions) -> Void) -> ZMQSocketOptions {
        var copy = self
        change(&copy)
        return copy
    }
}

extension ZMQSocket {
    /// SUB: receive messages that start with `prefix`; an empty one means all.
    package func subscribe(_ prefix: [UInt8] = []) throws(ZMQError) {
        try set(ZMQ_SUBSCRIBE, bytes: prefix, "subscribe")
    }

    package func unsubscribe(_ prefix: [UInt8] = []) throws(ZMQError) {
        try set(ZMQ_UNSUBSCRIBE, bytes: prefix, "unsubscribe")
    }

    func apply(_ options: ZMQSocketOptions) throws(ZMQError) {
        try applyQueues(options)
        try applyRouting(options)
        try applyLiveness(options)
        try applyTCP(options)
    }

    private func applyQueues(_ options: ZMQSocketOptions) throws(ZMQError) {
        try set(ZMQ_LINGER, options.linger < .zero ? -1 : options.linger.wholeMilliseconds, "set linger")
        try set(ZMQ_SNDHWM, options.sendHighWaterMessages, "set send high water")
        try set(ZMQ_RCVHWM, options.receiveHighWaterMessages, "set receive high water")
        var size = Int64(options.maxMessageBytes ?? -1)
        try unsafe withUnsafeBytes(of: &size) { bytes throws(ZMQError) in
            try unsafe set(ZMQ_MAXMSGSIZE, raw: bytes, "set maximum message size")
        }
    }

    private func applyRouting(_ options: ZMQSocketOptions) throws(ZMQError) {
        if let routingID = options.routingID {
            guard 1...255 ~= routingID.count, routingID[0] != 0 else {
                throw ZMQError(
                    code: EINVAL, operation: "set routing ID", detail: "expected 1 to 255 bytes, the first not 0")
            }
            try set(ZMQ_ROUTING_ID, bytes: routingID, "set routing ID")
        }
        try set(ZMQ_IMMEDIATE, options.immediate ? 1 : 0, "set immediate")
        guard type == .router else { return }
        try set(ZMQ_ROUTER_MANDATORY, options.routerMandatory ? 1 : 0, "set router mandatory")
        try set(ZMQ_ROUTER_HANDOVER, options.routerHandover ? 1 : 0, "set router handover")
    }

    private func applyLiveness(_ options: ZMQSocketOptions) throws(ZMQError) {
        try set(ZMQ_RECONNECT_IVL, options.reconnectInterval, "set reconnect interval")
        try set(ZMQ_RECONNECT_IVL_MAX, options.reconnectIntervalMax, "set maximum reconnect interval")
        try set(ZMQ_HEARTBEAT_IVL, options.heartbeatInterval, "set heartbeat interval")
        try set(ZMQ_HEARTBEAT_TIMEOUT, options.heartbeatTimeout, "set heartbeat timeout")
        try set(ZMQ_HEARTBEAT_TTL, options.heartbeatTTL, "set heartbeat TTL")
        try set(ZMQ_HANDSHAKE_IVL, options.handshakeTimeout, "set handshake timeout")
    }

    private func applyTCP(_ options: ZMQSocketOptions) throws(ZMQError) {
        try set(ZMQ_TCP_KEEPALIVE, options.tcpKeepalive.map { $0 ? 1 : 0 }, "set TCP keepalive")
        try set(ZMQ_TCP_KEEPALIVE_IDLE, options.tcpKeepaliveIdleSeconds, "set TCP keepalive idle")
        try set(ZMQ_TCP_KEEPALIVE_INTVL, options.tcpKeepaliveIntervalSeconds, "set TCP keepalive interval")
        try set(ZMQ_TCP_KEEPALIVE_CNT, options.tcpKeepaliveCount, "set TCP keepalive count")
        if options.ipv6 { try set(ZMQ_IPV6, 1, "set IPv6") }
    }

    func set(_ option: Int32, _ value: Int?, _ operation: String) throws(ZMQError) {
        guard let value else { return }
        var number = Int32(clamping: value)
        try unsafe withUnsafeBytes(of: &number) { bytes throws(ZMQError) in
            try unsafe set(option, raw: bytes, operation)
        }
    }

    private func set(_ option: Int32, _ value: Duration?, _ operation: String) throws(ZMQError) {
        try set(option, value.map(\.wholeMilliseconds), operation)
    }

    func set(_ option: Int32, bytes: [UInt8], _ operation: String) throws(ZMQError) {
        try unsafe bytes.withUnsafeBufferPointer { buffer throws(ZMQError) in
            try unsafe set(option, raw: UnsafeRawBufferPointer(buffer), operation)
        }
    }

    private func set(_ option: Int32, raw: UnsafeRawBufferPointer, _ operation: String) throws(ZMQError) {
        let handle = try unsafe openHandle(operation)
        guard unsafe zmq_setsockopt(handle, option, raw.baseAddress, raw.count) == 0 else { throw .last(operation) }
    }
}

extension Duration {
    /// Not negative, rounded up so that a short duration does not become none, at most what a C `int` holds.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        guard seconds < Int64(Int32.max) / 1000 else { return Int(Int32.max) }
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
