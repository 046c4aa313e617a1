/// The behaviour of this server where Apple's documents say nothing, or where APNs was seen to differ from them.
package struct Quirks: Sendable, Equatable {
    package enum Tokens: String, Sendable, CaseIterable { case strict, lenient }
    package enum Scope: String, Sendable, CaseIterable { case connection, key }
    package enum Tolerance: String, Sendable, CaseIterable { case accept, refuse }
    package enum CertificateRefusal: String, Sendable, CaseIterable { case goaway, answer }
    package enum OverLimit: String, Sendable, CaseIterable { case refuse, serve, goaway }
    package enum KeyReason: String, Sendable, CaseIterable {
        case keyID = "BadEnvironmentKeyIdInToken"
        case key = "BadEnvironmentKeyInToken"
    }
    package enum FutureReason: String, Sendable, CaseIterable {
        case invalid = "InvalidProviderToken"
        case tooMany = "TooManyProviderTokenUpdates"
    }

    /// Whether provider tokens must be exact JWTs, or may be like the tokens of Apple's sample code.
    package var tokens = Tokens.strict
    /// Whether the limit for changes of the provider token counts for each connection alone, or for each key on all
    /// connections.
    package var tokenUpdates = Scope.connection
    /// The reason in the answer to a provider token from the future.
    package var futureToken = FutureReason.invalid
    /// The reason in the answer to a provider token of a key that is not valid for the server's environment.
    package var wrongEnvironmentKey = KeyReason.keyID
    /// Whether a bad client certificate ends the connection with GOAWAY, or each request gets an answer.
    package var badCertificate = CertificateRefusal.goaway
    package var missingPushType = Tolerance.accept
    package var badPayload = Tolerance.accept
    /// What happens to a stream above the number of streams that the connection may have open.
    package var overLimit = OverLimit.refuse
    /// Whether `apns-id` in answers has capital letters.
    package var upperCaseIDs = false
    /// Whether a connection has only one stream after a status 4xx other than 410, until the next 200.
    package var fallAfterError = false
    /// Whether PING frames of the client get no answer.
    package var ignorePings = false
    /// After how many statuses 4xx, not counting 410, the server ends a connection with GOAWAY; nil if errors never end
    /// it.
    package var goAwayAfterErrors: Int?
}

extension Quirks {
    /// Applies the members of the object.
    mutating func read(_ fields: inout FieldReader) throws(FieldError) {
        try fields.choice("tokens", &tokens)
        try fields.choice("tokenUpdates", &tokenUpdates)
        try fields.choice("futureToken", &futureToken)
        try fields.choice("wrongEnvironmentKey", &wrongEnvironmentKey)
        try fields.choice("badCertificate", &badCertificate)
        try fields.choice("missingPushType", &missingPushType)
        try fields.choice("badPayload", &badPayload)
        try fields.choice("overLimit", &overLimit)
        upperCaseIDs = try fields.flag("upperCaseIDs") ?? upperCaseIDs
        fallAfterError = try fields.flag("fallAfterError") ?? fallAfterError
        ignorePings = try fields.flag("ignorePings") ?? ignorePings
        goAwayAfterErrors = try fields.count("goAwayAfterErrors") ?? goAwayAfterErrors
        try fields.finish()
    }
}
