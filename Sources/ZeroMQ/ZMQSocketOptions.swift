import CZeroMQ
import Glibc

/// The options of a socket, set before it binds or connects. `nil` leaves libzmq's default.
package struct ZMQSocketOptions: Sendable {
    /// How long unsent messages outlive ``ZMQSocket/close()``; a negative duration means without limit.
    package var linger: Duration = .zero
    /// How many messages are queued for a peer before a send blocks, or returns ``ZMQSendResult/full``. libzmq's
    /// default is 1000; 0 means no limit.
    package var sendHighWaterMessages: Int?
    /// How many messages from a peer are queued before the network is no longer read. libzmq's default is 1000; 0 means
    /// no limit.
    package var receiveHighWaterMessages: Int?
    /// A peer that sends a larger frame is disconnected, except on `inproc`. `nil` means no limit.
    package var frameBytesMax: Int? = 64 << 20
    /// The ID with which a ROUTER addresses this socket: 1 to 255 bytes, and the first must not be 0.
    package var routingID: [UInt8]?
    /// The first pause before connecting again. libzmq's default is 100 ms. libzmq 4.3.4 makes each pause longer by a
    /// random part of this time.
    package var reconnectInterval: Duration?
    /// The pause, without the random part, doubles up to this limit. By libzmq's default it does not grow.
    package var reconnectIntervalMax: Duration?

    package init() {}

    /// A copy with some options changed.
    package func with(_ change: (inout ZMQSocketOptions) -> Void) -> ZMQSocketOptions {
        var copy = self
        change(&copy)
        return copy
    }
}

extension ZMQSocket {
    func apply(_ options: ZMQSocketOptions) throws(ZMQError) {
        try applyQueues(options)
        try applyRouting(options)
        try applyReconnecting(options)
    }

    private func applyQueues(_ options: ZMQSocketOptions) throws(ZMQError) {
        try set(ZMQ_LINGER, options.linger < .zero ? -1 : options.linger.wholeMilliseconds, "set linger")
        try set(ZMQ_SNDHWM, options.sendHighWaterMessages, "set send high water")
        try set(ZMQ_RCVHWM, options.receiveHighWaterMessages, "set receive high water")
        var size = Int64(options.frameBytesMax ?? -1)
        try unsafe withUnsafeBytes(of: &size) { bytes throws(ZMQError) in
            try unsafe set(ZMQ_MAXMSGSIZE, raw: bytes, "set maximum frame size")
        }
    }

    private func applyRouting(_ options: ZMQSocketOptions) throws(ZMQError) {
        if let routingID = options.routingID {
            guard 1...255 ~= routingID.count, routingID[0] != 0 else {
                throw ZMQError(
                    code: EINVAL, operation: "set routing ID",
                    detail: routingID.first == 0
                        ? "the routing ID begins with the byte 0"
                        : "the routing ID has \(routingID.count) bytes; expected 1 to 255")
            }
            try set(ZMQ_ROUTING_ID, bytes: routingID, "set routing ID")
        }
        if type == .router { try set(ZMQ_ROUTER_MANDATORY, 1, "set router mandatory") }
    }

    private func applyReconnecting(_ options: ZMQSocketOptions) throws(ZMQError) {
        try set(ZMQ_RECONNECT_IVL, options.reconnectInterval, "set reconnect interval")
        try set(ZMQ_RECONNECT_IVL_MAX, options.reconnectIntervalMax, "set maximum reconnect interval")
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
    /// From 0 to the largest C `int`, rounded up so that a short duration does not become 0.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard self > .zero else { return 0 }
        guard seconds < Int64(Int32.max) / 1000 else { return Int(Int32.max) }
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
