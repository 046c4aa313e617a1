import Time

/// The assertions that a gateway has exchanged for web authentication tokens. None of them can be exchanged again. When
/// their number reaches `countMax`, the expired ones are dropped.
struct UsedAssertions {
    private struct ID: Hashable {
        var issuer: String
        var id: String
    }

    private var expirations: [ID: Instant] = [:]
    private let countMax: Int

    init(countMax: Int = 100_000) { self.countMax = countMax }

    /// - Throws: `AUTHENTICATION_FAILED` if the assertion was used before, `TRY_AGAIN_LATER` if too many assertions
    ///   that have not expired are in memory.
    mutating func use(_ assertion: Assertion, at now: Instant) throws(AccessError) {
        let id = ID(issuer: assertion.issuer, id: assertion.id)
        guard expirations[id] == nil else { throw .notValid("assertion.jti", "the assertion was used before") }
        if expirations.count >= countMax { expirations = expirations.filter { $0.value > now } }
        guard expirations.count < countMax else {
            throw AccessError(.tryAgainLater, nil, "there were too many sign-ins in the last minutes", retryAfter: 60)
        }
        expirations[id] = assertion.expires
    }
}
