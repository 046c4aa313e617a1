/// Why a request is rejected, and how the server tells the client.
package enum Refusal: Error, Sendable, Equatable {
    /// - Parameter timestamp: When the device token became invalid, in milliseconds since 1970.
    case answer(status: Int, reason: String, timestamp: Int64? = nil)
    /// The stream ends without an answer.
    case reset(StreamError)
    /// The server sends GOAWAY, and no open stream gets an answer.
    case goAway(reason: String)

    static func bad(_ reason: String) -> Refusal { .answer(status: 400, reason: reason) }
    static func forbidden(_ reason: String) -> Refusal { .answer(status: 403, reason: reason) }
}

/// Error codes of HTTP/2 that a stream or a connection may end with (RFC 9113 §7).
package enum StreamError: String, Sendable, CaseIterable {
    case noError = "NO_ERROR"
    case protocolError = "PROTOCOL_ERROR"
    case internalError = "INTERNAL_ERROR"
    case flowControlError = "FLOW_CONTROL_ERROR"
    case streamClosed = "STREAM_CLOSED"
    case refusedStream = "REFUSED_STREAM"
    case cancel = "CANCEL"
    case enhanceYourCalm = "ENHANCE_YOUR_CALM"

    package var code: UInt32 {
        switch self {
        case .noError: 0
        case .protocolError: 1
        case .internalError: 2
        case .flowControlError: 3
        case .streamClosed: 5
        case .refusedStream: 7
        case .cancel: 8
        case .enhanceYourCalm: 11
        }
    }
}
