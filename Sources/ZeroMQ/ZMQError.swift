import CZeroMQ
import Glibc

/// What libzmq or the operating system refused, where, and what an operator can do about it.
///
/// Everything this module can fail with is one of these; no errno of libzmq ends the process.
package struct ZMQError: Error, Equatable, Sendable {
    /// The errno, either of the system (`EADDRINUSE`) or of libzmq (`ETERM`, `EFSM`).
    package let code: Int32
    /// What was being done: `bind`, `receive`, `set linger`.
    package let operation: String
    /// The endpoint that was being bound, connected or released.
    package let endpoint: String?
    /// What this module knows beyond the errno; never contains key material.
    package let detail: String?

    package init(code: Int32, operation: String, endpoint: String? = nil, detail: String? = nil) {
        self.code = code
        self.operation = operation
        self.endpoint = endpoint
        self.detail = detail
    }

    /// The errno of the libzmq call that has just failed on this thread.
    static func last(_ operation: String, endpoint: String? = nil) -> ZMQError {
        ZMQError(code: zmq_errno(), operation: operation, endpoint: endpoint)
    }

    /// The context was shut down: the owner of the socket closes it and returns.
    package var isTerminated: Bool { code == ETERM }

    /// Whether the same call may succeed later with nothing changed in the configuration.
    package var isRetriable: Bool { Self.retriable.contains(code) }

    private static let retriable: Set<Int32> = [
        EAGAIN, EINTR, EHOSTUNREACH, EADDRINUSE, EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNREFUSED, ENETDOWN, ENETUNREACH,
    ]
}

extension ZMQError: CustomStringConvertible {
    package var description: String {
        let place = endpoint.map { "\(operation) \($0)" } ?? operation
        return "ZeroMQ: \(place): \(unsafe detail ?? hint ?? String(cString: zmq_strerror(code)))"
    }

    private var hint: String? { endpoint.flatMap(addressHint) ?? generalHint }

    private func addressHint(_ endpoint: String) -> String? {
        switch code {
        case EADDRINUSE:
            "port in use: another process is bound to \(endpoint); stop it or choose another `bind`"
        case EADDRNOTAVAIL: "not an address of this machine; use one of its addresses, or 0.0.0.0 for all"
        case ENODEV: "no such network interface; use an address of this machine, or 0.0.0.0 for all"
        case EACCES: "permission denied; choose a port above 1023 or a directory this user may write to"
        case ENOENT: "nothing is bound there, or the directory of the socket file does not exist"
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
        case EMTHREAD: "the context has no I/O thread"
        default: nil
        }
    }
}
