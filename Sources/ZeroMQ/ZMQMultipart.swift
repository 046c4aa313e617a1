import CZeroMQ
import Glibc

/// The frames of one message. The storage is used again for the next message.
///
/// Received bytes are read in place. A pointer from the subscript is valid until the message is sent, changed, emptied
/// or freed, or until the object receives another message. Like a socket, the object has one owner at a time.
@safe package final class ZMQMultipart {
    package static let framesMaxDefault = 256

    /// The most frames that are kept of a received message. The frames after these are dropped; see
    /// ``ZMQReceiveResult/tooManyFrames(_:)``.
    package let framesMax: Int
    package private(set) var count = 0
    // Slots below `count` hold an initialised zmq_msg_t, the others do not.
    private var slots: UnsafeMutablePointer<zmq_msg_t>
    private var capacity: Int

    package init(framesMax: Int = ZMQMultipart.framesMaxDefault) {
        self.framesMax = max(1, framesMax)
        capacity = min(self.framesMax, 4)
        unsafe slots = .allocate(capacity: capacity)
    }

    deinit {
        removeAll()
        unsafe slots.deallocate()
    }

    /// The bytes of one frame, not copied.
    package subscript(index: Int) -> UnsafeRawBufferPointer {
        let frame = unsafe pointer(at: index)
        return unsafe UnsafeRawBufferPointer(start: zmq_msg_data(frame), count: zmq_msg_size(frame))
    }

    /// A copy of one frame, for bytes that outlive the message.
    package func bytes(at index: Int) -> [UInt8] { unsafe Array(self[index]) }

    /// The sum of the frames' sizes.
    package var byteCount: Int { (0..<count).reduce(0) { unsafe $0 + self[$1].count } }

    /// Adds a frame with a copy of `bytes`.
    ///
    /// - Throws: `ENOMEM`, with the message unchanged.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(ZMQError) {
        try unsafe append(count: bytes.count) { unsafe $0.copyMemory(from: bytes) }
    }

    package func append(_ bytes: [UInt8]) throws(ZMQError) {
        try unsafe append(count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
    }

    /// Adds a frame of `count` bytes that `fill` writes in place.
    package func append(count byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) throws(ZMQError) {
        let frame = unsafe freeSlot()
        guard unsafe zmq_msg_init_size(frame, byteCount) == 0 else {
            throw .last("allocate a frame of \(byteCount) bytes")
        }
        count += 1
        unsafe fill(UnsafeMutableRawBufferPointer(start: zmq_msg_data(frame), count: byteCount))
    }

    /// Frees the frames and keeps the storage.
    package func removeAll() {
        for index in 0..<count { unsafe zmq_msg_close(slots + index) }
        count = 0
    }

    /// The user ID of the sender's CURVE key, from the server's list of allowed clients; nil without CURVE. See
    /// ``ClientAuthorization/setUserIDs(_:in:)``.
    package var userID: String? {
        // The frames of a message share its metadata, except a ROUTER's first frame, which libzmq makes itself.
        guard count > 0, let text = unsafe zmq_msg_gets(slots + (count - 1), "User-Id") else { return nil }
        return unsafe String(cString: text)
    }
}

extension ZMQMultipart {
    func pointer(at index: Int) -> UnsafeMutablePointer<zmq_msg_t> {
        precondition(index >= 0 && index < count, "there is no frame \(index) in a message of \(count) frames")
        return unsafe slots + index
    }

    /// Receives one frame from the socket.
    ///
    /// - Returns: 0 if a frame was added; otherwise the errno.
    func receiveFrame(from socket: UnsafeMutableRawPointer, _ flags: Int32) -> Int32 {
        let frame = unsafe freeSlot()
        unsafe zmq_msg_init(frame)
        let code = unsafe Self.receive(frame, from: socket, flags)
        if code == 0 { count += 1 } else { unsafe zmq_msg_close(frame) }
        return code
    }

    var expectsMore: Bool { unsafe count > 0 && zmq_msg_more(slots + (count - 1)) != 0 }

    /// Reads the remaining frames of a message and drops them.
    ///
    /// - Returns: The number of frames that were dropped, and the errno that ended the reading early, or 0.
    static func drain(_ socket: UnsafeMutableRawPointer) -> (frames: Int, code: Int32) {
        var frame = zmq_msg_t()
        var frames = 0
        unsafe zmq_msg_init(&frame)
        defer { unsafe zmq_msg_close(&frame) }
        repeat {
            let code = unsafe receive(&frame, from: socket, 0)
            guard code == 0 else { return (frames, code) }
            frames += 1
        } while unsafe zmq_msg_more(&frame) != 0
        return (frames, 0)
    }

    private static func receive(
        _ frame: UnsafeMutablePointer<zmq_msg_t>, from socket: UnsafeMutableRawPointer, _ flags: Int32
    ) -> Int32 {
        while unsafe zmq_msg_recv(frame, socket, flags) < 0 {
            let code = zmq_errno()
            if code != EINTR { return code }
        }
        return 0
    }

    private func freeSlot() -> UnsafeMutablePointer<zmq_msg_t> {
        if count == capacity { grow() }
        return unsafe slots + count
    }

    private func grow() {
        let larger = UnsafeMutablePointer<zmq_msg_t>.allocate(capacity: capacity * 2)
        for index in 0..<count {
            unsafe zmq_msg_init(larger + index)
            unsafe zmq_msg_move(larger + index, slots + index)
            unsafe zmq_msg_close(slots + index)
        }
        unsafe slots.deallocate()
        unsafe slots = larger
        capacity *= 2
    }
}

@available(*, unavailable, message: "a message has one owner at a time")
extension ZMQMultipart: Sendable {}
