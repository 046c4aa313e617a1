import Synchronization
import Time

/// The token of one key, for pools on any thread. What one of them learns of it, all know with their next request.
final class SharedToken: Sendable {
    private let keeper: Mutex<TokenKeeper>
    private let changes = Atomic<Int>(0)
    private let file: TokenFile?
    private let tell: @Sendable (String) -> Void

    /// - Parameters:
    ///   - path: Where the token outlives the process; nil: nowhere.
    ///   - tell: Takes what keeps it from being kept.
    init(
        _ key: SigningKey, keptAt path: String? = nil, jitter: @escaping @Sendable () -> Double,
        tell: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        file = path.map(TokenFile.init)
        keeper = Mutex(TokenKeeper(key, kept: file?.read(), jitter: jitter))
        self.tell = tell
    }

    /// Another number after each change; never 0.
    var edition: Int { changes.load(ordering: .acquiring) + 1 }

    /// - Parameter age: How old a token becomes, before chance has its part.
    func current(at now: Instant, age: Duration) throws -> ProviderToken {
        try keeper.withLock { keeper in
            if let token = keeper.valid(at: now, age: age) { return token }
            adoptKept(&keeper)
            let (token, isNew) = try keeper.current(at: now, age: age)
            if isNew { keep(token) }
            return token
        }
    }

    /// APNs called the token expired: there is another from now on, unless the last is young.
    func refuse(at now: Instant) throws {
        try keeper.withLock { keeper in
            if adoptKept(&keeper) { return }
            guard try keeper.refuse(at: now), let token = keeper.token else { return }
            keep(token)
        }
    }

    /// APNs counted too many tokens.
    func keep(at now: Instant) { keeper.withLock { $0.keep(at: now) } }

    /// Another process may have made one, such as the doctor.
    @discardableResult
    private func adoptKept(_ keeper: inout TokenKeeper) -> Bool {
        guard keeper.adopt(file?.read()) else { return false }
        changes.add(1, ordering: .releasing)
        return true
    }

    /// A token that cannot be kept is still good: after a restart there will be one more.
    private func keep(_ token: ProviderToken) {
        changes.add(1, ordering: .releasing)
        if let error = file?.write(token) { tell("\(error): after a restart APNs may count one token too many") }
    }
}
