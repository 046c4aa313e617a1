/// The codes that CloudKit Web Services gives as `serverErrorCode` (Archive: CloudKit Web Services Reference, Error
/// Codes).
///
/// Some clients decode only Apple's codes, so Belfry adds only one code: `CHANGE_TOKEN_EXPIRED`.
package enum ServerErrorCode: String, CaseIterable, Sendable {
    case accessDenied = "ACCESS_DENIED"
    case atomicError = "ATOMIC_ERROR"
    case authenticationFailed = "AUTHENTICATION_FAILED"
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    case badRequest = "BAD_REQUEST"
    /// Belfry's own. Apple's table has no code for `CKError.changeTokenExpired`.
    case changeTokenExpired = "CHANGE_TOKEN_EXPIRED"
    case conflict = "CONFLICT"
    case exists = "EXISTS"
    case internalError = "INTERNAL_ERROR"
    case notFound = "NOT_FOUND"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case throttled = "THROTTLED"
    case tryAgainLater = "TRY_AGAIN_LATER"
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    case zoneNotFound = "ZONE_NOT_FOUND"

    /// The HTTP status of the response if the whole request fails with this code.
    package var status: Int {
        switch self {
        case .atomicError, .badRequest: 400
        case .authenticationFailed: 401
        case .accessDenied: 403
        case .notFound, .zoneNotFound: 404
        case .conflict, .exists: 409
        case .changeTokenExpired: 410
        case .validatingReferenceError: 412
        case .quotaExceeded: 413
        case .authenticationRequired: 421
        case .throttled: 429
        case .internalError: 500
        case .tryAgainLater: 503
        }
    }
}
