import Glibc
import Synchronization

/// A client that a server refused.
package struct RefusedClient: Hashable, Sendable {
    /// The server's domain: see ``ZMQSocket/useCurveServer(secretKey:authorization:domain:)``.
    package let domain: String
    package let key: CurvePublicKey
    /// The client's IP address. For a client that connected over `ipc`: `localhost:`, then the user ID, group ID and
    /// process ID of the client's process, as in `localhost:0:0:4711`. Empty if libzmq knows no address.
    package let address: String
}

/// Checks the CURVE clients of all servers of one context, on a thread of its own (ZeroMQ RFC 27/ZAP). Each server
/// belongs to a domain. A domain has a list of clients; without a list it refuses every client.
///
/// libzmq lets every client in if no socket is bound to the ZAP endpoint. Therefore each CURVE server needs a
/// `ClientAuthorization` and keeps it alive. The endpoint stays bound until the authorization is freed.
package final class ClientAuthorization: Sendable {
    let context: ZMQContext
    private let responder: ZAPResponder
    private let thread: pthread_t

    /// - Parameter onRefusal: Called on the authorization's thread for each handshake with a CURVE key that the domain
    ///   does not list.
    /// - Throws: `EADDRINUSE` if the context already has an authorization.
    package init(_ context: ZMQContext, onRefusal: @escaping @Sendable (RefusedClient) -> Void = { _ in })
        throws(ZMQError)
    {
        let responder = try ZAPResponder(context, onRefusal)
        self.context = context
        self.responder = responder
        thread = try SocketThread.start(name: "zap") { responder.run() }
    }

    deinit {
        responder.stop()
        pthread_join(thread, nil)
        responder.release()
    }

    /// Replaces a domain's list. The new list applies to later connections. Existing connections stay open.
    ///
    /// - Parameter userIDs: The user ID of each key. One user may have several keys.
    package func setUserIDs(_ userIDs: [CurvePublicKey: String], in domain: String) {
        responder.userIDs.withLock { $0[domain] = userIDs }
    }
}

// @unchecked holds because `init` uses the socket and the message before the thread exists, and while the thread runs,
// only the thread uses them. `ClientAuthorization` calls `release()` after the thread has ended. All other members are
// Sendable.
private final class ZAPResponder: @unchecked Sendable {
    let userIDs = Mutex<[String: [CurvePublicKey: String]]>([:])
    private let endpoint = "inproc://zeromq.zap.01"
    private let isStopping = Atomic(false)
    private let wake: WakeSignal
    private let socket: ZMQSocket
    private let message = ZMQMultipart(framesMax: 16)
    private let onRefusal: @Sendable (RefusedClient) -> Void

    init(_ context: ZMQContext, _ onRefusal: @escaping @Sendable (RefusedClient) -> Void) throws(ZMQError) {
        self.onRefusal = onRefusal
        wake = try WakeSignal()
        // A ROUTER can drop a malformed request. A REP would have to answer a malformed request before it can receive
        // another request.
        socket = try ZMQSocket(context, .router)
        try socket.bind(endpoint)
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Frees the endpoint for the next authorization. Closing the socket would free the endpoint only some time
    /// later.
    func release() {
        do throws(ZMQError) {
            try socket.unbind(endpoint)
        } catch {
            // The error is ETERM: the context is ending, and its endpoints end with it.
        }
    }

    /// Answers requests until ``stop()`` or until the context is shut down.
    ///
    /// Afterwards the socket stays bound, so later requests get no answer and libzmq lets no client in.
    func run() {
        let poller = ZMQPoller()
        poller.add(socket)
        poller.add(wake)
        do throws(ZMQError) {
            while !isStopping.load(ordering: .acquiring) {
                _ = try poller.poll()
                try answerRequests()
            }
        } catch {
            // The error is ETERM, or the socket no longer works. Then the clients' handshakes time out.
            return
        }
    }

    /// Answers all requests that are waiting.
    private func answerRequests() throws(ZMQError) {
        while true {
            switch try socket.receive(into: message, wait: false) {
            case .empty: return
            case .tooManyFrames: continue
            case .received: try answerRequest()
            }
        }
    }

    // Frames: routing ID, empty, version, request ID, domain, address, identity, mechanism, then the client's key.
    private func answerRequest() throws(ZMQError) {
        guard message.count == 9, text(2) == "1.0", unsafe message[1].isEmpty else { return }
        let verdict = userID().map { ["200", "OK", $0] } ?? ["400", "the key is not listed", ""]
        let head = [message.bytes(at: 0), [], message.bytes(at: 2), message.bytes(at: 3)]
        _ = try socket.send(head + verdict.map { Array($0.utf8) } + [[]], wait: false)
    }

    private func userID() -> String? {
        let (domain, key) = (text(4), message.bytes(at: 8))
        guard text(7) == "CURVE", key.count == 32 else { return nil }
        let client = CurvePublicKey(bytes: key)
        if let userID = userIDs.withLock({ $0[domain]?[client] }) { return userID }
        onRefusal(RefusedClient(domain: domain, key: client, address: text(5)))
        return nil
    }

    private func text(_ index: Int) -> String { unsafe String(decoding: message[index], as: UTF8.self) }
}
