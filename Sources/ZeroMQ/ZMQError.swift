import CZeroMQ
import Glibc

/// An error of libzmq or of the operating system: the call, the endpoint, and what an operator can do.
///
/// Every error of this module is a `ZMQError`; no errno of libzmq ends the process.
package struct ZMQError: Error, Equatable, Sendable {
    /// The errno: the system's (`EADDRINUSE`) or libzmq's own (`ETERM`, `EFSM`).
    package let code: Int32
    /// The failed call: `bind`, `receive`, `set linger`.
    package let operation: String
    /// The endpoint of the call; nil if the call has no endpoint.
    package let endpoint: String?
    /// What this module knows beyond the errno. It never contains key material.
    package let detail: String?

    package init(code: Int32, operation: String, endpoint: String? = nil, detail: String? = nil) {
        self.code = code
        self.operation = operation
        self.endpoint = endpoint
        self.detail = detail
    }

    /// An error with the errno of the libzmq call that has just failed on this thread.
    static func last(_ operation: String, endpoint: String? = nil) -> ZMQError {
        ZMQError(code: zmq_errno(), operation: operation, endpoint: endpoint)
    }

    /// Whether the context was shut down. Then the owner of the socket should close it and return.
    package var isTerminated: Bool { code == ETERM }
}

extension ZMQError: CustomStringConvertible {
    package var description: String {
        let call = endpoint.map { "\(operation) \($0)" } ?? operation
        return "ZeroMQ: \(call): \(unsafe detail ?? hint ?? String(cString: zmq_strerror(code)))"
    }

    private var hint: String? { endpoint.flatMap(addressHint) ?? generalHint }

    private func addressHint(_ endpoint: String) -> String? {
        switch code {
        case EADDRINUSE where endpoint.hasPrefix("tcp://"):
            "port in use: another process is bound to \(endpoint); stop it or choose another `bind`"
        case EADDRINUSE:
            "address in use: another socket is bound to \(endpoint); close it or choose another endpoint"
        case EADDRNOTAVAIL: "not an address of this machine; use one of its addresses, or 0.0.0.0 for all"
        case ENODEV: "no such network interface; use an address of this machine, or 0.0.0.0 for all"
        case EACCES: "permission denied; choose a port above 1023 or a directory this user may write to"
        case ENOENT: "no socket is bound to this endpoint, or the directory of the socket file does not exist"
        case ENAMETOOLONG: "the path of the socket file is too long; at most 107 bytes"
        case EINVAL: "not an endpoint; expected tcp://HOST:PORT, ipc://PATH or inproc://NAME"
        case EPROTONOSUPPORT: "unknown transport; expected tcp://, ipc:// or inproc://"
        default: nil
        }
    }

    private var generalHint: String? {
        switch code {
        case ETERM: "the context was shut down"
        case ENOTSOCK: "the socket is closed"
        case EMFILE, ENFILE: "too many open sockets or files; raise the context's socket limit or `ulimit -n`"
        default: nil
        }
    }
}
