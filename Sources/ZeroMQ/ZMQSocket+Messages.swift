import CZeroMQ
import Glibc

/// The result of a send.
package enum ZMQSendResult: Sendable, Equatable {
    /// The message was queued for a peer. If the peer disconnects during or after the send, the message may be lost.
    case sent
    /// The message was not queued: there is no peer, or the peer's queue is at the high water mark.
    case full
    /// The message was not queued: no peer has the routing ID of the first frame.
    case unreachable
}

/// The result of a receive.
package enum ZMQReceiveResult: Sendable, Equatable {
    case received
    /// No message was waiting.
    case empty
    /// The message had this many frames, more than ``ZMQMultipart/framesMax``. Only the first frames were kept, so that
    /// a ROUTER can answer the sender.
    case tooManyFrames(Int)
}

extension ZMQSocket {
    /// Sends all frames as one message, without copying them. Either all frames are sent, or no frame.
    ///
    /// The first frame of a ROUTER's message is the routing ID of the peer that gets the message. If the queue of this
    /// peer is full, the send blocks, or returns ``ZMQSendResult/full`` if `wait` is false. A poll may find the ROUTER
    /// writable nevertheless, because the queue of another peer has room.
    ///
    /// - Parameter message: Emptied when it was sent, and after an error of libzmq. It stays unchanged for another try
    ///   if it was not queued, and also if the socket was closed before the call.
    /// - Parameter wait: Whether to block until there is room, instead of returning ``ZMQSendResult/full``.
    /// - Throws: `EINVAL` for no frames, `ETERM` after the context's shutdown, `ENOTSOCK` for a closed socket, `EFSM`
    ///   if the pattern does not allow a send now, `ENOTSUP` if it never does.
    package func send(_ message: ZMQMultipart, wait: Bool = true) throws(ZMQError) -> ZMQSendResult {
        let handle = try unsafe openHandle("send")
        guard message.count > 0 else { throw ZMQError(code: EINVAL, operation: "send", detail: "no frames") }
        for index in 0..<message.count {
            let more = index + 1 < message.count ? ZMQ_SNDMORE : 0
            let code = unsafe sendFrame(message.pointer(at: index), handle, more | (wait ? 0 : ZMQ_DONTWAIT))
            // After the first frame, EAGAIN means that the peer has just left and the message is lost. libzmq then
            // drops the frames that it gets, up to the next frame without ZMQ_SNDMORE. So it must get this message's
            // last frame too, or it would also drop the next message.
            if code == 0 || (index > 0 && code == EAGAIN) { continue }
            return try refusal(code, of: message)
        }
        message.removeAll()
        return .sent
    }

    /// Copies `frames` and sends them as one message.
    package func send(_ frames: [UnsafeRawBufferPointer], wait: Bool = true) throws(ZMQError) -> ZMQSendResult {
        defer { outgoing.removeAll() }
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe frame in unsafe frames { try unsafe outgoing.append(frame) }
        return try send(outgoing, wait: wait)
    }

    /// Copies `frames` and sends them as one message.
    package func send(_ frames: [[UInt8]], wait: Bool = true) throws(ZMQError) -> ZMQSendResult {
        defer { outgoing.removeAll() }
        for frame in frames { try outgoing.append(frame) }
        return try send(outgoing, wait: wait)
    }

    /// Receives one whole message into `message`, after freeing its former frames.
    ///
    /// - Parameter wait: Whether to block until a message comes, instead of returning ``ZMQReceiveResult/empty``.
    /// - Throws: `ETERM` after the context's shutdown, `ENOTSOCK` for a closed socket, `EFSM` if the pattern does not
    ///   allow a receive now, `ENOTSUP` if it never does. `message` is then empty, unless the socket was closed before
    ///   the call.
    package func receive(into message: ZMQMultipart, wait: Bool = true) throws(ZMQError) -> ZMQReceiveResult {
        let handle = try unsafe openHandle("receive")
        message.removeAll()
        repeat {
            if message.count == message.framesMax { return try unsafe dropRest(of: message, handle) }
            let code = unsafe message.receiveFrame(from: handle, wait ? 0 : ZMQ_DONTWAIT)
            if code == EAGAIN { return .empty }
            guard code == 0 else { throw receiveFailed(code, message) }
        } while message.expectsMore
        return .received
    }

    private func sendFrame(
        _ frame: UnsafeMutablePointer<zmq_msg_t>, _ handle: UnsafeMutableRawPointer, _ flags: Int32
    ) -> Int32 {
        while unsafe zmq_msg_send(frame, handle, flags) < 0 {
            let code = zmq_errno()
            if code != EINTR { return code }
        }
        return 0
    }

    private func refusal(_ code: Int32, of message: ZMQMultipart) throws(ZMQError) -> ZMQSendResult {
        switch code {
        case EAGAIN: return .full
        case EHOSTUNREACH: return .unreachable
        default:
            message.removeAll()
            throw ZMQError(code: code, operation: "send")
        }
    }

    private func dropRest(
        of message: ZMQMultipart, _ handle: UnsafeMutableRawPointer
    ) throws(ZMQError) -> ZMQReceiveResult {
        let rest = unsafe ZMQMultipart.drain(handle)
        guard rest.code == 0 else { throw receiveFailed(rest.code, message) }
        return .tooManyFrames(message.count + rest.frames)
    }

    private func receiveFailed(_ code: Int32, _ message: ZMQMultipart) -> ZMQError {
        message.removeAll()
        return ZMQError(code: code, operation: "receive")
    }
}
