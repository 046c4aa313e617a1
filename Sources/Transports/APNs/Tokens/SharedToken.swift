import Synchronization
import Time

/// The token of one key, shared by pools on any thread. When one pool replaces it, all pools use the new token from
/// their next request.
final class SharedToken: Sendable {
    private let keeper: Mutex<TokenKeeper>
    private let changes = Atomic<Int>(0)
    private let file: TokenFile?
    private let tell: @Sendable (String) -> Void

    /// - Parameters:
    ///   - path: The file that keeps the token over restarts; nil if no file keeps it.
    ///   - tell: Called with the error if the file cannot be written.
    init(
        _ key: SigningKey, keptAt path: String? = nil, jitter: @escaping @Sendable () -> Double,
        tell: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        file = path.map(TokenFile.init)
        keeper = Mutex(TokenKeeper(key, kept: file?.read(), jitter: jitter))
        self.tell = tell
    }

    /// A number that grows with each change of the token. Never 0.
    var edition: Int { changes.load(ordering: .acquiring) + 1 }

    /// - Parameter age: The age at which a token is replaced, before jitter.
    func current(at now: Instant, age: Duration) throws -> ProviderToken {
        try keeper.withLock { keeper in
            if let token = keeper.valid(at: now, age: age) { return token }
            adoptKept(&keeper)
            let (token, isNew) = try keeper.current(at: now, age: age)
            if isNew { store(token) }
            return token
        }
    }

    /// Replaces the token, because APNs called it expired. First looks for a newer token in the file. If the file has
    /// none, makes a new token, unless the old one is younger than 20 minutes or replacement is paused.
    func replaceExpired(at now: Instant) throws {
        try keeper.withLock { keeper in
            if adoptKept(&keeper) { return }
            guard try keeper.replaceExpired(at: now), let token = keeper.token else { return }
            store(token)
        }
    }

    /// For 20 minutes, replaces the token only when it is almost an hour old, because APNs counted too many tokens.
    func pauseReplacement(at now: Instant) { keeper.withLock { $0.pauseReplacement(at: now) } }

    /// Adopts a newer token from the file. Another process, such as `belfry doctor apns`, may have made it.
    @discardableResult
    private func adoptKept(_ keeper: inout TokenKeeper) -> Bool {
        guard keeper.adopt(file?.read()) else { return false }
        changes.add(1, ordering: .releasing)
        return true
    }

    /// Stores a new token. A token that cannot be stored is still used, but the next start then makes another token.
    private func store(_ token: ProviderToken) {
        changes.add(1, ordering: .releasing)
        if let error = file?.write(token) { tell("\(error): after a restart APNs may count one token too many") }
    }
}
