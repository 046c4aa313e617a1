import Time

/// When the token of a key is replaced.
///
/// APNs wants a token no older than an hour and none newer than the last by less than 20 minutes (Establishing a
/// token-based connection to APNs); what counts as another token is not known, so the token itself outlives a restart.
struct TokenKeeper {
    // Establishing a token-based connection to APNs.
    static let ageMax = Duration.seconds(60 * 60)
    static let ageOfReplaced = Duration.seconds(20 * 60)
    /// Between which ages a token is replaced, whatever is asked for.
    static let refreshAges = Duration.seconds(25 * 60)...Duration.seconds(55 * 60)
    /// By how much chance moves that, either way: senders that were started together do not all sign together.
    static let jitterMax = Duration.seconds(4 * 60)

    private let key: SigningKey
    private let jitter: @Sendable () -> Double
    private(set) var token: ProviderToken?
    private var keptUntil = Instant.epoch

    /// - Parameters:
    ///   - kept: What was stored before a restart. Nothing, if another key signed it: the file of the key was mended.
    ///   - jitter: From 0 to 1, drawn once for each token.
    init(_ key: SigningKey, kept: ProviderToken? = nil, jitter: @escaping @Sendable () -> Double) {
        (self.key, self.jitter) = (key, jitter)
        adopt(kept)
    }

    /// Goes on with a younger token that the key signed elsewhere.
    ///
    /// - Returns: Whether it is one.
    @discardableResult
    mutating func adopt(_ other: ProviderToken?) -> Bool {
        guard let other, other.issued > token?.issued ?? .epoch, other.isSigned(by: key) else { return false }
        token = other
        return true
    }

    /// The token, where it may be sent now.
    func valid(at now: Instant, age: Duration) -> ProviderToken? {
        guard let token, token.issued <= now.advanced(by: .seconds(300)),
            now - token.issued < ageMax(of: token, at: now, age)
        else { return nil }
        return token
    }

    /// - Parameter age: How old a token becomes, before chance has its part.
    /// - Returns: The token to send now, and whether it was just made.
    mutating func current(at now: Instant, age: Duration) throws -> (ProviderToken, isNew: Bool) {
        if let token = valid(at: now, age: age) { return (token, false) }
        return (try make(at: now), true)
    }

    /// APNs called the token expired.
    ///
    /// - Returns: Whether there is another now: a young one is kept, for a second would be refused as one too many.
    mutating func refuse(at now: Instant) throws -> Bool {
        guard let token, now >= keptUntil, now - token.issued >= Self.ageOfReplaced else { return false }
        _ = try make(at: now)
        return true
    }

    /// APNs counted too many tokens: none is made for 20 minutes, while the last one lives.
    mutating func keep(at now: Instant) { keptUntil = now.advanced(by: Self.ageOfReplaced) }

    private func ageMax(of token: ProviderToken, at now: Instant, _ age: Duration) -> Duration {
        if now < keptUntil { return Self.ageMax - .seconds(60) }
        return min(max(age + token.shift, Self.refreshAges.lowerBound), Self.refreshAges.upperBound)
    }

    private mutating func make(at now: Instant) throws -> ProviderToken {
        let shift = (Self.jitterMax * (2 * jitter() - 1)).components.seconds
        let made = try ProviderToken(signedBy: key, at: now, shift: .seconds(shift))
        token = made
        return made
    }
}
