import EventLog

/// The token of one key, shared by all its connections, and when it is replaced.
///
/// APNs wants a token no older than an hour and none newer than the last by less than 20 minutes (Establishing a
/// token-based connection to APNs); what counts as another token is not known, so the token itself outlives a restart.
struct TokenKeeper {
    // Establishing a token-based connection to APNs.
    static let ageMax = Duration.seconds(60 * 60)
    static let ageOfReplaced = Duration.seconds(20 * 60)

    private let key: SigningKey
    private let refreshAge: Duration
    private(set) var token: ProviderToken?
    private var keptUntil = Instant.epoch

    /// - Parameters:
    ///   - kept: What was stored before a restart. Nothing, if another key signed it: the file of the key was mended.
    ///   - refreshAge: From 25 to 55 minutes.
    init(_ key: SigningKey, kept: ProviderToken? = nil, refreshAge: Duration) {
        self.key = key
        self.refreshAge = refreshAge
        token = kept.flatMap { $0.isSigned(by: key) ? $0 : nil }
    }

    /// - Returns: The token to send now, and whether it was just made.
    mutating func current(at now: Instant) throws -> (ProviderToken, isNew: Bool) {
        if let token, token.issued <= now.advanced(by: .seconds(300)), now - token.issued < ageMax(at: now) {
            return (token, false)
        }
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

    private func ageMax(at now: Instant) -> Duration { now < keptUntil ? Self.ageMax - .seconds(60) : refreshAge }

    private mutating func make(at now: Instant) throws -> ProviderToken {
        let made = try ProviderToken(signedBy: key, at: now)
        token = made
        return made
    }
}
