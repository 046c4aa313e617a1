import CZeroMQ
import Glibc

/// A socket's messaging pattern; the libzmq guide says which patterns can connect to each other.
package enum ZMQSocketType: Sendable {
    case pair, req, dealer, router, pull, push

    var rawValue: Int32 {
        switch self {
        case .pair: ZMQ_PAIR
        case .req: ZMQ_REQ
        case .dealer: ZMQ_DEALER
        case .router: ZMQ_ROUTER
        case .pull: ZMQ_PULL
        case .push: ZMQ_PUSH
        }
    }
}

/// A ZeroMQ socket. It belongs to one thread, because libzmq sockets must not be used from two threads at once.
///
/// The socket is closed by ``close()``, or when its last reference is released. Calls throw `ENOTSOCK` after
/// ``close()``, and `ETERM` after the context's shutdown.
@safe package final class ZMQSocket {
    package let type: ZMQSocketType
    /// The socket keeps its context alive, because libzmq ends a context only after all its sockets were closed.
    package let context: ZMQContext
    private(set) var handle: UnsafeMutableRawPointer?
    /// Kept so that a CURVE server never outlives the object that checks its clients.
    var authorization: ClientAuthorization?
    let outgoing = ZMQMultipart()
    private let options: ZMQSocketOptions

    /// - Throws: `EMFILE` at the context's socket limit, `ETERM` after its shutdown, `EINVAL` for an option out of
    ///   range.
    package init(
        _ context: ZMQContext, _ type: ZMQSocketType, _ options: ZMQSocketOptions = ZMQSocketOptions()
    ) throws(ZMQError) {
        (self.type, self.context, self.options) = (type, context, options)
        try open()
    }

    deinit { close() }

    /// Releases the endpoints and, after the linger time, drops unsent messages. Further calls of this method
    /// do nothing.
    package func close() {
        guard let handle = unsafe handle else { return }
        unsafe zmq_close(handle)
        context.releaseSocket()
        unsafe self.handle = nil
        authorization = nil
    }

    /// Accepts peers at `endpoint`: `tcp://127.0.0.1:*` chooses a free port (see ``lastEndpoint``).
    ///
    /// If another process is bound to the same `ipc` path, the call takes the path over without an error, because
    /// libzmq removes the file first.
    package func bind(_ endpoint: String) throws(ZMQError) {
        try unsafe call("bind", endpoint, zmq_bind)
    }

    /// Connects in the background and retries until there is a peer. A malformed endpoint throws, an absent peer does
    /// not.
    package func connect(_ endpoint: String) throws(ZMQError) {
        try unsafe call("connect", endpoint, zmq_connect)
    }

    /// Closes the socket and opens it again with the options of its creation, without keys and endpoints. Messages that
    /// were not yet received are lost. Pollers go on with the new socket; a monitor must be stopped before.
    package func reopen() throws(ZMQError) {
        close()
        try open()
    }

    package func unbind(_ endpoint: String) throws(ZMQError) {
        try unsafe call("unbind", endpoint, zmq_unbind)
    }

    /// The endpoint that was bound or connected last, with wildcards resolved. Empty if there is none, after
    /// ``close()``, and after a call has thrown `ETERM`.
    package var lastEndpoint: String {
        guard let handle = unsafe handle else { return "" }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
            var size = buffer.count
            let code = unsafe zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, buffer.baseAddress, &size)
            return unsafe code == 0 && size > 0 ? String(cString: buffer.baseAddress!) : ""
        }
    }

    func openHandle(_ operation: String) throws(ZMQError) -> UnsafeMutableRawPointer {
        guard let handle = unsafe handle else { throw ZMQError(code: ENOTSOCK, operation: operation) }
        return unsafe handle
    }

    private func open() throws(ZMQError) {
        try context.claimSocket()
        guard let handle = unsafe zmq_socket(context.handle, type.rawValue) else {
            let error = ZMQError.last("create socket")
            context.releaseSocket()
            throw error
        }
        unsafe self.handle = handle
        try apply(options)
    }

    private func call(
        _ operation: String, _ endpoint: String,
        _ body: (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> Int32
    ) throws(ZMQError) {
        let handle = try unsafe openHandle(operation)
        guard !endpoint.utf8.contains(0) else {
            throw ZMQError(code: EINVAL, operation: operation, endpoint: endpoint)
        }
        let result = unsafe endpoint.withCString { unsafe body(handle, $0) }
        guard result == 0 else { throw .last(operation, endpoint: endpoint) }
    }
}

@available(*, unavailable, message: "a socket belongs to one thread; create it on the thread that uses it")
extension ZMQSocket: Sendable {}
