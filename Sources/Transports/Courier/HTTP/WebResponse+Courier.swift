import Events
import HTTPServer
import HTTPTypes
import JSON

extension WebResponse {
    static func json(_ bytes: some Sequence<UInt8>, status: HTTPResponse.Status = .ok) -> WebResponse {
        WebResponse(status: status, headers: [.contentType: "application/json; charset=utf-8"], body: bytes)
    }

    /// The answer to a poll that ended without a notification. The client then polls again.
    static let empty = WebResponse(status: .ok)

    /// - Parameter code: The error code for programs.
    static func refusal(_ status: HTTPResponse.Status, _ code: String, _ reason: String) -> WebResponse {
        let json = ByteBuffer.object {
            $0.append("error", code)
            $0.append(.reason, reason)
        }
        return .json(json.bytes, status: status)
    }

    static let unknownToken = refusal(
        .forbidden, "token.unknown", "no device is registered with this token: register the device with a new token")
    static let closed = unavailable("the courier is closed")

    static func unavailable(_ reason: String) -> WebResponse {
        var answer = refusal(.serviceUnavailable, "unavailable", reason)
        answer.headers[.retryAfter] = "1"
        return answer
    }

    static func refusal(_ refusal: WebServerRefusal) -> WebResponse {
        switch refusal {
        case .malformed: .refusal(refusal.status, "request.malformed", "the request is not valid HTTP")
        case .bodyTooLong:
            .refusal(
                refusal.status, "body.too_long", "the body is longer than \(CourierLimits.bodyBytesMax) bytes")
        case .tooManyBodies, .pathInUse: .unavailable("the courier has no room for the body now: try again later")
        case .tooManyAnswers: .unavailable("the courier has no room for the answer now: try again later")
        case .targetTooLong:
            .refusal(
                refusal.status, "path.too_long",
                "the path and its query are longer than \(CourierLimits.targetBytesMax) bytes")
        case .headTooLong:
            .refusal(
                refusal.status, "head.too_long",
                "the request line and headers are longer than \(CourierLimits.headBytesMax) bytes")
        }
    }

    init(_ answer: Poll.Answer) {
        self =
            switch answer {
            case .notification(let payload): .json(payload)
            case .nothing: .empty
            case .unknownToken: .unknownToken
            case .tooMany: .unavailable("\(CourierLimits.pollsMax) polls are waiting already: try again later")
            case .failed(let reason): .unavailable(reason)
            }
    }
}
