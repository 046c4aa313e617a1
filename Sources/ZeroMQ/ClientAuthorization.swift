import Glibc
import Synchronization

/// Which CURVE clients a context's servers let in.
public enum AllowedClients: Sendable {
    /// Encryption without authentication: whoever knows the server's public key.
    case any
    case keys(Set<CurvePublicKey>)

    func contains(_ key: CurvePublicKey) -> Bool {
        switch self {
        case .any: true
        case .keys(let keys): keys.contains(key)
        }
    }
}

/// Decides about CURVE clients of all servers of one context, on a thread of its own (ZeroMQ RFC 27/ZAP).
///
/// libzmq lets every client in when nobody answers at the ZAP endpoint. Therefore a CURVE server needs one of these
/// and keeps it, and its endpoint stays bound until it is freed.
public final class ClientAuthorization: Sendable {
    let context: ZMQContext
    private let responder: ZAPResponder
    private let thread: pthread_t

    /// - Throws: `EADDRINUSE` when the context has one already.
    public init(_ context: ZMQContext, allowing clients: AllowedClients) throws(ZMQError) {
        let responder = try ZAPResponder(context, clients)
        self.context = context
        self.responder = responder
        thread = try SocketThread.start(name: "zap") { responder.run() }
    }

    deinit {
        responder.stop()
        pthread_join(thread, nil)
        responder.release()
    }

    /// Replaces the list for connections made from now on; those that exist stay.
    public func allow(_ clients: AllowedClients) {
        responder.clients.withLock { $0 = clients }
    }

    /// How many handshakes were refused. A refused client tries again by itself.
    public var refusals: Int { responder.refusals.load(ordering: .relaxed) }
}

// @unchecked holds because the socket and the message are touched only by `init`, before the thread exists, and then
// by that thread, which `ClientAuthorization` joins before it lets go of this object. All else is Sendable.
private final class ZAPResponder: @unchecked Sendable {
    let clients: Mutex<AllowedClients>
    let refusals = Atomic(0)
    private let endpoint = "inproc://zeromq.zap.01"
    private let isStopping = Atomic(false)
    private let wake: WakeSignal
    private let socket: ZMQSocket
    private let message = ZMQMultipart(framesMax: 16)

    init(_ context: ZMQContext, _ clients: AllowedClients) throws(ZMQError) {
        self.clients = Mutex(clients)
        wake = try WakeSignal()
        // ROUTER, not REP: a malformed request is dropped instead of leaving the socket waiting for an answer.
        socket = try ZMQSocket(context, .router)
        try socket.bind(endpoint)
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Frees the endpoint for the next authorization; closing the socket does so only some time later.
    func release() {
        do throws(ZMQError) {
            try socket.unbind(endpoint)
        } catch {
            // ETERM: the context is ending, and its endpoints with it.
        }
    }

    /// Answers until told to stop or until the context is shut down.
    ///
    /// The socket stays bound after that: requests without an answer let nobody in.
    func run() {
        let poller = ZMQPoller()
        poller.add(socket)
        poller.add(wake)
        do throws(ZMQError) {
            while !isStopping.load(ordering: .acquiring) {
                _ = try poller.poll()
                try answerWaiting()
            }
        } catch {
            // ETERM, or a socket that no longer works: the handshakes time out.
            return
        }
    }

    private func answerWaiting() throws(ZMQError) {
        while true {
            switch try socket.receive(into: message, wait: false) {
            case .empty: return
            case .tooManyFrames: continue
            case .received: try answer()
            }
        }
    }

    // Frames: routing ID, empty, version, request ID, domain, address, identity, mechanism, then the client's key.
    private func answer() throws(ZMQError) {
        guard message.count == 9, text(2) == "1.0", message[1].isEmpty else { return }
        let key = message.bytes(at: 8)
        let isAllowed = text(7) == "CURVE" && key.count == 32 && allows(CurvePublicKey(bytes: key))
        if !isAllowed { refusals.add(1, ordering: .relaxed) }
        let verdict = isAllowed ? ["200", "OK", CurvePublicKey(bytes: key).z85] : ["400", "unknown client key", ""]
        let head = [message.bytes(at: 0), [], message.bytes(at: 2), message.bytes(at: 3)]
        _ = try socket.send(head + verdict.map { Array($0.utf8) } + [[]], wait: false)
    }

    private func allows(_ key: CurvePublicKey) -> Bool {
        clients.withLock { $0.contains(key) }
    }

    private func text(_ index: Int) -> String { String(decoding: message[index], as: UTF8.self) }
}
