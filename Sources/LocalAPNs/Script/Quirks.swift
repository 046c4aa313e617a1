/// The behaviour of this server where Apple's documents say nothing, or where APNs was seen to differ from them.
package struct Quirks: Sendable, Equatable {
    package enum Tokens: String, Sendable, CaseIterable { case strict, lenient }
    package enum Scope: String, Sendable, CaseIterable { case connection, key }
    package enum Tolerance: String, Sendable, CaseIterable { case accept, refuse }
    package enum CertificateRefusal: String, Sendable, CaseIterable { case goaway, answer }
    package enum OverLimit: String, Sendable, CaseIterable { case refuse, serve, goaway }
    package enum KeyReason: String, Sendable, CaseIterable {
        case identified = "BadEnvironmentKeyIdInToken"
        case seen = "BadEnvironmentKeyInToken"
    }
    package enum FutureReason: String, Sendable, CaseIterable {
        case invalid = "InvalidProviderToken"
        case tooMany = "TooManyProviderTokenUpdates"
    }

    package var tokens = Tokens.strict
    package var tokenUpdates = Scope.connection
    package var futureToken = FutureReason.invalid
    package var wrongEnvironmentKey = KeyReason.identified
    package var badCertificate = CertificateRefusal.goaway
    package var missingPushType = Tolerance.accept
    package var badPayload = Tolerance.accept
    package var overLimit = OverLimit.refuse
    /// Whether `apns-id` in answers has capital letters.
    package var upperCaseIDs = false
    /// Whether a connection has only one stream after a status 4xx other than 410, until the next 200.
    package var fallAfterError = false
    package var ignorePings = false
    /// The number of statuses 4xx other than 410 that ends a connection; nil if errors never end it.
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
