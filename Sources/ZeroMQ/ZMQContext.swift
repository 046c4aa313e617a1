import CZeroMQ
import Glibc
import Synchronization

/// The I/O threads and the `inproc` name space that sockets share.
///
/// Sockets keep their context alive. When the last socket and the last other reference are gone, `deinit` waits for
/// messages still queued, at most for the linger time of each socket (0 unless a socket sets one).
// @unchecked holds because the handle never changes and libzmq documents contexts as thread safe.
@safe package final class ZMQContext: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer
    private let maxSockets: Int
    private let openSockets = Atomic(0)

    /// - Parameter maxSockets: The highest number of open sockets. Creating one more throws `EMFILE`.
    package init(maxSockets: Int = 1023) throws(ZMQError) {
        guard let handle = unsafe zmq_ctx_new() else { throw .last("create context") }
        unsafe self.handle = handle
        self.maxSockets = maxSockets
        // New sockets get a linger of 0 instead of an endless one, so that ending the context never waits for an absent
        // peer.
        try set(ZMQ_BLOCKY, 0, "set linger default")
        guard 1...maxSocketsLimit ~= maxSockets else {
            throw ZMQError(
                code: EINVAL, operation: "set socket limit",
                detail: "the limit is \(maxSockets) sockets; expected 1 to \(maxSocketsLimit)")
        }
        // When libzmq ends a context while an `inproc` connection waits for its peer, it makes a socket in place of the
        // peer. If the limit does not allow this socket, libzmq aborts the process. Closed sockets count until libzmq's
        // reaper thread has handled them.
        try set(ZMQ_MAX_SOCKETS, 2 * maxSockets + 256, "set socket limit")
    }

    deinit {
        while unsafe zmq_ctx_term(handle) != 0, zmq_errno() == EINTR {}
    }

    /// Makes every call on a socket of this context throw `ETERM`, including calls that are blocked at the moment.
    ///
    /// Returns at once. May be called from any thread, and more than once. The owners should then close their sockets.
    package func shutdown() {
        unsafe zmq_ctx_shutdown(handle)
    }

    func claimSocket() throws(ZMQError) {
        let count = openSockets.add(1, ordering: .relaxed).newValue
        guard count > maxSockets else { return }
        releaseSocket()
        throw ZMQError(code: EMFILE, operation: "create socket")
    }

    func releaseSocket() {
        openSockets.subtract(1, ordering: .relaxed)
    }

    private func set(_ option: Int32, _ value: Int, _ operation: String) throws(ZMQError) {
        let value = Int32(clamping: value)
        guard unsafe zmq_ctx_set(handle, option, value) == 0 else { throw .last(operation) }
    }
}

// `init` gives libzmq twice the limit of the context, and 256 more. libzmq's own limit is 65535 (ZMQ_SOCKET_LIMIT).
private let maxSocketsLimit = 32_000
