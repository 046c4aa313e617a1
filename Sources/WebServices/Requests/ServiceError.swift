import CloudKitModel
import Events
import JSON

/// An error that a client gets, with CloudKit's code.
///
/// CloudKit Web Services Reference, "Error Codes". An error replaces a whole answer, or one item of an answer.
struct ServiceError: Error, Hashable, Sendable {
    let code: ServerErrorCode
    let reason: String
    /// The seconds after which the client may retry; nil if it should not retry.
    var retryAfter: Int?
    /// The URL at which a user signs in. Only an error with the code `AUTHENTICATION_REQUIRED` may have it.
    var redirectURL: String?
    /// The methods that the path allows, if the request has another method; otherwise empty. RFC 9110, section 15.5.6.
    var allowedMethods: [String] = []

    init(_ code: ServerErrorCode, _ reason: String, retryAfter: Int? = nil, redirectURL: String? = nil) {
        (self.code, self.reason, self.retryAfter, self.redirectURL) = (code, reason, retryAfter, redirectURL)
    }

    static func bad(_ reason: String) -> ServiceError { ServiceError(.badRequest, reason) }

    static func wrongMethod(allowed: [String]) -> ServiceError {
        var error = ServiceError(
            .badRequest, "this path does not allow the request's method; use \(allowed.joined(separator: " or "))")
        error.allowedMethods = allowed
        return error
    }

    static let outcomeUnknown = ServiceError(
        .tryAgainLater,
        "the gateway does not know whether the write happened or still will; check this before you send it again",
        retryAfter: 5)
}

extension ServiceError {
    /// Writes the members of an error dictionary.
    ///
    /// - Parameter uuid: The ID of the request.
    func write(into json: inout ByteBuffer, uuid: String) {
        json.append("uuid", uuid)
        json.append("serverErrorCode", code.rawValue)
        json.append(.reason, reason)
        json.append("retryAfter", retryAfter)
        json.append("redirectURL", redirectURL)
    }

    /// The error as a whole answer.
    func answer(uuid: String) -> ServiceAnswer {
        let body = ByteBuffer.object { write(into: &$0, uuid: uuid) }
        guard !allowedMethods.isEmpty else { return ServiceAnswer(status: code.status, body: body) }
        var answer = ServiceAnswer(status: 405, body: body)
        answer.headers = [("Allow", allowedMethods.joined(separator: ", "))]
        return answer
    }
}
