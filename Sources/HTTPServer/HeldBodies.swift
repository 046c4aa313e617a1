import Synchronization

/// Counts the bytes of the bodies that a server holds at once, on all connections: of requests, or of answers.
final class HeldBodies: Sendable {
    private struct Counts {
        var all = 0
        /// Has no entry for a client without bytes.
        var ofClients: [ClientNetwork: Int] = [:]
        var claimedPaths: Set<String> = []
    }

    private let bytesMax: Int
    /// Nil if one client may hold as much as all clients together.
    private let bytesPerClientMax: Int?
    /// Whether a body may exceed ``bytesMax`` while the server holds no other body, and ``bytesPerClientMax`` while the
    /// client holds no other body.
    private let admitsSingleBody: Bool
    private let counts = Mutex(Counts())

    private init(bytesMax: Int, limitsEachClient: Bool, admitsSingleBody: Bool) {
        (self.bytesMax, self.admitsSingleBody) = (bytesMax, admitsSingleBody)
        bytesPerClientMax = limitsEachClient ? bytesMax / 4 : nil
    }

    static func ofRequests(_ limits: WebServerLimits) -> HeldBodies {
        HeldBodies(
            bytesMax: limits.heldBodyBytesMax, limitsEachClient: limits.limitsEachClient, admitsSingleBody: false)
    }

    static func ofAnswers(_ limits: WebServerLimits) -> HeldBodies {
        HeldBodies(
            bytesMax: limits.heldAnswerBytesMax, limitsEachClient: limits.limitsEachClient, admitsSingleBody: true)
    }

    /// A reservation for one request, which holds no bytes yet.
    ///
    /// - Parameter client: The client whose own limit counts the request's bytes; nil if only the common limit does.
    func reservation(for client: ClientNetwork?) -> BodyReservation {
        BodyReservation(in: self, client: bytesPerClientMax == nil ? nil : client)
    }

    func hasRoom(for byteCount: Int, of client: ClientNetwork?) -> Bool {
        counts.withLock { hasRoom(for: byteCount, of: client, $0) }
    }

    /// - Returns: False if the bytes exceed a limit. They are not counted then.
    fileprivate func add(_ byteCount: Int, of client: ClientNetwork?) -> Bool {
        counts.withLock { counts in
            guard hasRoom(for: byteCount, of: client, counts) else { return false }
            counts.all += byteCount
            if let client { counts.ofClients[client, default: 0] += byteCount }
            return true
        }
    }

    private func hasRoom(for byteCount: Int, of client: ClientNetwork?, _ counts: borrowing Counts) -> Bool {
        guard fits(byteCount, beside: counts.all, atMost: bytesMax) else { return false }
        guard let client, let bytesPerClientMax else { return true }
        return fits(byteCount, beside: counts.ofClients[client, default: 0], atMost: bytesPerClientMax)
    }

    private func fits(_ byteCount: Int, beside held: Int, atMost max: Int) -> Bool {
        byteCount <= max - held || (admitsSingleBody && held == 0)
    }

    fileprivate func remove(_ byteCount: Int, of client: ClientNetwork?) {
        counts.withLock { counts in
            counts.all -= byteCount
            guard let client, let held = counts.ofClients[client] else { return }
            counts.ofClients[client] = held == byteCount ? nil : held - byteCount
        }
    }

    /// - Returns: False if another request has claimed the path.
    fileprivate func claim(_ path: String) -> Bool { counts.withLock { $0.claimedPaths.insert(path).inserted } }

    fileprivate func unclaim(_ path: String) { counts.withLock { _ = $0.claimedPaths.remove(path) } }
}

/// The bytes and the path that one request holds in ``HeldBodies``. Its owner must call ``end()``.
struct BodyReservation {
    private let bodies: HeldBodies
    private let client: ClientNetwork?
    private var byteCount = 0
    private var path: String?

    fileprivate init(in bodies: HeldBodies, client: ClientNetwork?) { (self.bodies, self.client) = (bodies, client) }

    /// Whether a body of this length would fit now. Reserves nothing: a client holds room only for bytes that
    /// have arrived.
    func hasRoom(for byteCount: Int) -> Bool { bodies.hasRoom(for: byteCount, of: client) }

    /// Reserves room for bytes of a request that have arrived, or for a whole answer.
    ///
    /// - Returns: False if the bytes exceed a limit. They are not reserved then.
    mutating func add(_ byteCount: Int) -> Bool {
        guard bodies.add(byteCount, of: client) else { return false }
        self.byteCount += byteCount
        return true
    }

    /// Refuses the path to other requests until ``end()``.
    ///
    /// - Returns: False if another request has the path.
    mutating func claim(_ path: String) -> Bool {
        guard bodies.claim(path) else { return false }
        self.path = path
        return true
    }

    /// Gives everything back.
    mutating func end() {
        if byteCount > 0 { bodies.remove(byteCount, of: client) }
        if let path { bodies.unclaim(path) }
        (byteCount, path) = (0, nil)
    }
}
