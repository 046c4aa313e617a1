import CloudKitModel

/// Why a request is refused, with the members of CloudKit's error dictionary.
package struct AccessError: Error, Hashable, Sendable {
    package let code: ServerErrorCode
    /// The part of the request that is wrong, such as `ckWebAuthToken`; nil if no single part is.
    package let field: String?
    /// A sentence. It begins with the field's name if there is one, and never contains a secret.
    package let reason: String
    /// Where the user can sign in, for `AUTHENTICATION_REQUIRED`.
    package let redirectURL: String?
    /// The number of seconds after which the client may repeat the request; nil if the same request would fail again.
    package let retryAfter: Int?
    /// Set if the refused credential could have been a guess. The attempt then counts against the limit of the client,
    /// and against the limit of the key if ``FailedAttempt/keyID`` is set.
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

/// A request with a wrong token, key ID or signature.
struct FailedAttempt: Hashable, Sendable {
    /// The ID of the key that the attempt counts against: the API token that came with a wrong web authentication
    /// token, or the key whose signature is wrong. Nil if the API token or the key ID is itself wrong.
    var keyID: String?
}

extension AccessError {
    static func badRequest(_ field: String, _ problem: String) -> AccessError {
        AccessError(.badRequest, field, problem)
    }

    /// An error for a wrong credential, which could be a guess.
    static func wrong(_ field: String, _ problem: String, of keyID: String? = nil) -> AccessError {
        AccessError(.authenticationFailed, field, problem, attempt: FailedAttempt(keyID: keyID))
    }
}

/// The names that errors use for the parts of a request.
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
