import CloudKitModel

/// Why a request is refused, as CloudKit's error dictionary says it.
package struct AccessError: Error, Hashable, Sendable {
    package let code: ServerErrorCode
    /// The part of the request that is wrong, such as `ckWebAuthToken`; nil if no single part is.
    package let field: String?
    /// A sentence that begins with the field's name. It never contains a secret.
    package let reason: String
    /// Where the user can sign in, for `AUTHENTICATION_REQUIRED`.
    package let redirectURL: String?
    /// In seconds. Nil: the same request fails again.
    package let retryAfter: Int?
    /// The refused credential could have been a guess, so it counts against the client.
    let attempt: FailedAttempt?

    init(
        _ code: ServerErrorCode, _ field: String?, _ problem: String, redirectURL: String? = nil,
        retryAfter: Int? = nil, attempt: FailedAttempt? = nil
    ) {
        self.code = code
        self.field = field
        self.reason = (field.map { "\($0): " } ?? "") + problem
        self.redirectURL = redirectURL
        self.retryAfter = retryAfter
        self.attempt = attempt
    }

    package var status: Int { code.status }
}

/// A wrong token or signature.
struct FailedAttempt: Hashable, Sendable {
    /// The existing key that the request names; nil if it names none.
    var keyID: String?
}

extension AccessError {
    static func badRequest(_ field: String, _ problem: String) -> AccessError {
        AccessError(.badRequest, field, problem)
    }

    /// A credential that could be a guess.
    static func wrong(_ field: String, _ problem: String, of keyID: String? = nil) -> AccessError {
        AccessError(.authenticationFailed, field, problem, attempt: FailedAttempt(keyID: keyID))
    }
}

/// The parts of a request as errors name them.
enum Field {
    static let apiToken = "ckAPIToken"
    static let webToken = "ckWebAuthToken"
    /// The older name of `ckWebAuthToken`.
    static let session = "ckSession"
    static let keyID = "X-Apple-CloudKit-Request-KeyID"
    static let date = "X-Apple-CloudKit-Request-ISO8601Date"
    static let signature = "X-Apple-CloudKit-Request-SignatureV1"
    static let host = "Host"
    static let origin = "Origin"
    static let container = "container"
    static let environment = "environment"
    static let database = "database"
    static let assertion = "assertion"
}
