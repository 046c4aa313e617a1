import CZeroMQ
import Glibc

/// The pattern a socket speaks; see the libzmq guide for who may talk to whom.
package enum ZMQSocketType: Sendable {
    case pair, pub, sub, req, rep, dealer, router, pull, push

    var rawValue: Int32 {
        switch self {
        case .pair: ZMQ_PAIR
        case .pub: ZMQ_PUB
        case .sub: ZMQ_SUB
        case .req: ZMQ_REQ
        case .rep: ZMQ_REP
        case .dealer: ZMQ_DEALER
        case .router: ZMQ_ROUTER
        case .pull: ZMQ_PULL
        case .push: ZMQ_PUSH
        }
    }
}

/// One socket, one owner, one thread: libzmq sockets must not be used from two threads at once.
///
/// Closed by ``close()`` or when the last reference goes. After that, and after the context's shutdown, calls
/// throw `ENOTSOCK` and `ETERM`.
@safe package final class ZMQSocket {
    package let type: ZMQSocketType
    /// Kept alive by the socket; libzmq waits for all sockets before it ends a context.
    package let context: ZMQContext
    private(set) var handle: UnsafeMutableRawPointer?
    /// Kept so that a CURVE server never outlives the one who checks its clients.
    var authorization: ClientAuthorization?
    let outgoing = ZMQMultipart()

    /// - Throws: `EMFILE` at the context's socket limit, `ETERM` after its shutdown, `EINVAL` for an option out of range.
    package init(
        _ context: ZMQContext, _ type: ZMQSocketType, _ options: ZMQSocketOptions = ZMQSocketOptions()
    ) throws(ZMQError) {
        try context.claimSocket()
        guard let handle = unsafe zmq_socket(context.handle, type.rawValue) else {
            let error = ZMQError.last("create socket")
            context.releaseSocket()
            throw error
        }
        self.type = type
        self.context = context
        unsafe self.handle = handle
        try apply(options)
    }

    deinit { close() }

    /// Gives up the endpoints and, after the linger time, unsent messages. Further calls do nothing.
    package func close() {
        guard let handle = unsafe handle else { return }
        unsafe zmq_close(handle)
        context.releaseSocket()
        unsafe self.handle = nil
        authorization = nil
    }

    /// Accepts peers at `endpoint`: `tcp://127.0.0.1:*` takes a free port (see ``lastEndpoint``).
    ///
    /// An `ipc` path that a running process holds is taken over without an error; libzmq removes the file first.
    package func bind(_ endpoint: String) throws(ZMQError) {
        try unsafe call("bind", endpoint, zmq_bind)
    }

    /// Connects in the background, again and again until there is a peer: no error means a well-formed endpoint.
    package func connect(_ endpoint: String) throws(ZMQError) {
        try unsafe call("connect", endpoint, zmq_connect)
    }

    package func unbind(_ endpoint: String) throws(ZMQError) {
        try unsafe call("unbind", endpoint, zmq_unbind)
    }

    package func disconnect(_ endpoint: String) throws(ZMQError) {
        try unsafe call("disconnect", endpoint, zmq_disconnect)
    }

    /// The endpoint bound or connected last, wildcards resolved; empty when there is none.
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
