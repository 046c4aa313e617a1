import Time

/// Decides when the token of a key is replaced.
///
/// APNs rejects a token that is older than an hour, and tokens that are replaced more often than every 20 minutes
/// (Apple, "Establishing a token-based connection to APNs"). A new token after a restart may count as a replacement
/// too, so the token is kept over restarts.
struct TokenKeeper {
    /// APNs rejects an older token.
    static let ageMax = Duration.seconds(60 * 60)
    /// The age that a token must have reached when it is replaced. Otherwise APNs rejects the new token.
    static let replacedAgeMin = Duration.seconds(20 * 60)
    /// The limits of the age at which a token is replaced, whatever the settings and the jitter are. They do not apply
    /// while replacement is paused, or to a token that APNs called expired.
    static let refreshAges = Duration.seconds(25 * 60)...Duration.seconds(55 * 60)
    /// How much earlier or later a token is replaced at random, so that senders that started together do not all sign
    /// at the same time.
    static let jitterMax = Duration.seconds(4 * 60)

    private let key: SigningKey
    private let jitter: @Sendable () -> Double
    private(set) var token: ProviderToken?
    /// The end of the time in which replacement is paused.
    private var pausedUntil = Instant.epoch

    /// - Parameters:
    ///   - kept: The token that was stored before a restart. Ignored if another key signed it: then the key file was
    ///     corrected after the token was stored.
    ///   - jitter: A number from 0 to 1 for each new token.
    init(_ key: SigningKey, kept: ProviderToken? = nil, jitter: @escaping @Sendable () -> Double) {
        (self.key, self.jitter) = (key, jitter)
        adopt(kept)
    }

    /// Adopts the other token if it is newer and the key signed it.
    ///
    /// - Returns: Whether the token was adopted.
    @discardableResult
    mutating func adopt(_ other: ProviderToken?) -> Bool {
        guard let other, other.issued > token?.issued ?? .epoch, other.isSigned(by: key) else { return false }
        token = other
        return true
    }

    /// The token; nil if no token was made yet, or if it must be replaced before the next request.
    func valid(at now: Instant, age: Duration) -> ProviderToken? {
        guard let token, token.issued <= now.advanced(by: .seconds(300)),
            now - token.issued < replacementAge(of: token, at: now, age)
        else { return nil }
        return token
    }

    /// - Parameter age: The age at which a token is replaced, before jitter.
    /// - Returns: The token to send now, and whether it was just made.
    mutating func current(at now: Instant, age: Duration) throws -> (ProviderToken, isNew: Bool) {
        if let token = valid(at: now, age: age) { return (token, false) }
        return (try make(at: now), true)
    }

    /// Replaces a token that APNs called expired. A young token is kept, because APNs would reject its successor as
    /// one token too many. While replacement is paused, every token is kept.
    ///
    /// - Returns: Whether the token was replaced.
    mutating func replaceExpired(at now: Instant) throws -> Bool {
        guard let token, now >= pausedUntil, now - token.issued >= Self.replacedAgeMin else { return false }
        _ = try make(at: now)
        return true
    }

    /// Notes that APNs counted too many tokens. For 20 minutes, the token is then replaced only when it is almost an
    /// hour old.
    mutating func pauseReplacement(at now: Instant) { pausedUntil = now.advanced(by: Self.replacedAgeMin) }

    private func replacementAge(of token: ProviderToken, at now: Instant, _ age: Duration) -> Duration {
        if now < pausedUntil { return Self.ageMax - .seconds(60) }
        return min(max(age + token.shift, Self.refreshAges.lowerBound), Self.refreshAges.upperBound)
    }

    private mutating func make(at now: Instant) throws -> ProviderToken {
        let shift = (Self.jitterMax * (2 * jitter() - 1)).components.seconds
        let made = try ProviderToken(signedBy: key, at: now, shift: .seconds(shift))
        token = made
        return made
    }
}
