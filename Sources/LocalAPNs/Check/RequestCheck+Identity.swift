/// Checks the provider: its certificate or its token.
extension RequestCheck {
    func checkIdentity(
        _ inspection: inout Inspection, on connection: inout ConnectionState, by registry: inout Registry,
        at now: Int64
    ) throws(Refusal) {
        if let certificate = connection.certificate { return try check(certificate, at: now) }
        let text = try bearer(of: inspection.request)
        let token = try providerToken(text, by: &registry, at: now)
        inspection.providerToken = token
        try checkAge(of: token, at: now)
        guard token.key.environments.contains(environment) else {
            throw .forbidden(quirks.wrongEnvironmentKey.rawValue)
        }
        try checkRelation(of: token.key, on: connection)
        guard admit(token, text, on: &connection, by: &registry, at: now) else {
            throw .answer(status: 429, reason: "TooManyProviderTokenUpdates")
        }
        connection.firstKey = connection.firstKey ?? token.key
    }

    private func check(_ certificate: ClientCertificate, at now: Int64) throws(Refusal) {
        guard certificate.isTrusted, certificate.validity.contains(now) else { throw refusal("BadCertificate") }
        guard certificate.environments.contains(environment) else { throw refusal("BadCertificateEnvironment") }
    }

    private func refusal(_ reason: String) -> Refusal {
        quirks.badCertificate == .goaway ? .goAway(reason: reason) : .forbidden(reason)
    }

    /// The text after `bearer ` in the header `authorization`. The word `bearer` is case-insensitive (RFC 9110 §11.1).
    private func bearer(of request: PushRequest) throws(Refusal) -> String {
        let value = request.header("authorization") ?? ""
        guard value.prefix(7).lowercased() == "bearer ", value.utf8.count > 7 else {
            throw .forbidden("MissingProviderToken")
        }
        return String(value.dropFirst(7))
    }

    private func providerToken(
        _ text: String, by registry: inout Registry, at now: Int64
    ) throws(Refusal) -> ProviderToken {
        guard let token = registry.token(text, leniently: quirks.tokens == .lenient) else {
            throw .forbidden("InvalidProviderToken")
        }
        guard token.issuedAt * 1000 - now <= RequestCheck.aheadMillisecondsMax else {
            throw quirks.futureToken == .invalid
                ? .forbidden("InvalidProviderToken") : .answer(status: 429, reason: "TooManyProviderTokenUpdates")
        }
        return token
    }

    /// How far a token's time may be ahead of the server's clock. Apple documents no limit, but clocks differ a little.
    private static let aheadMillisecondsMax: Int64 = 5 * 60_000

    private func checkAge(of token: ProviderToken, at now: Int64) throws(Refusal) {
        guard now - token.issuedAt * 1000 <= 3_600_000 else { throw .forbidden("ExpiredProviderToken") }
    }

    /// A connection accepts the tokens of its first key, and of the same team's keys that are related to the first key.
    private func checkRelation(of key: SigningKey, on connection: ConnectionState) throws(Refusal) {
        guard let first = connection.firstKey, first.id != key.id else { return }
        guard first.team == key.team else { throw .forbidden("InvalidProviderToken") }
        guard first.related == key.id || key.related == first.id else { throw .forbidden("UnrelatedKeyIdInToken") }
    }

    private func admit(
        _ token: ProviderToken, _ text: String, on connection: inout ConnectionState, by registry: inout Registry,
        at now: Int64
    ) -> Bool {
        switch quirks.tokenUpdates {
        case .connection: connection.updates.admit(text, at: now)
        case .key: registry.updates[token.key.id, default: TokenUpdates()].admit(text, at: now)
        }
    }
}
