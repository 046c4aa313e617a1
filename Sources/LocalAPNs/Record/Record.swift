/// Something that happened in the server.
package enum Record: Sendable {
    case request(RecordedRequest)
    case connection(ConnectionEvent)
    case delivery(DeliveryEvent)

    /// Nil for other records.
    package var request: RecordedRequest? {
        guard case .request(let request) = self else { return nil }
        return request
    }
}

/// A request and its outcome.
package struct RecordedRequest: Sendable {
    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// Counted from 1.
    package var connection: Int
    /// The HTTP/2 stream of the connection.
    package var stream: Int
    /// nil: no answer; ``ending`` says why.
    package var status: Int?
    /// The reason in the answer's body, such as `BadDeviceToken`; nil: accepted, or no answer.
    package var reason: String?
    /// `silence`, `drop`, `goaway`, or `reset` with its code.
    package var ending: String?
    /// The client's `apns-id`, or else the one that the server made.
    package var id: String
    /// The header `apns-unique-id` of the answer, which a development server gives.
    package var uniqueID: String?
    /// The device token, if it is well-formed.
    package var token: String?
    /// The topic in the request, or else the topic of the client's certificate.
    package var topic: String?
    /// Names and values in their order, without `authorization`.
    package var headers: [(name: String, value: String)]
    /// The time in the provider token, in seconds since 1970.
    package var tokenIssuedAt: Int64?
    /// The key's ID, from the header of the provider token.
    package var keyID: String?
    /// The payload as it was sent.
    package var body: [UInt8]
    /// Whether a request with this `apns-id` came before.
    package var isRepeat: Bool
    /// Faults that Apple's documents advise against.
    package var warnings: [String]
    /// What happens to an accepted push: `shown`, `replaced` (shown in the place of another), `stored`, `overwritten`
    /// (stored in the place of another), `dropped` or `expired`; nil: not accepted.
    package var fate: String?
    /// The `apns-id` of the push that this one took the place of.
    package var replaced: String?
    /// What the device shows of the payload; nil: not accepted.
    package var notice: Notice?

    /// The first header of that name, in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// Something that happened to a connection.
package struct ConnectionEvent: Sendable {
    package enum Step: Sendable {
        /// - Parameter topic: The first topic of the client's certificate; nil: the client sends tokens.
        case open(remote: String, topic: String?)
        /// The server announced this many streams.
        case settings(streams: Int)
        case goAway(lastStream: Int, code: String, debug: String)
        /// The client opened a stream too many.
        case refused(stream: Int)
        /// The client reset a stream.
        case reset(stream: Int, code: String)
        case close(requests: Int)
        /// TLS or HTTP/2 failed.
        case failed(reason: String)
    }

    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// Counted from 1.
    package var connection: Int
    /// What happened.
    package var step: Step
}

/// The end of a push that was stored for its device.
package struct DeliveryEvent: Sendable {
    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// The `apns-id` of the push.
    package var id: String
    /// The device's token.
    package var token: String
    /// The app's bundle ID.
    package var bundle: String
    /// See ``RecordedRequest/fate``.
    package var fate: String
    /// The `apns-id` of the push that this one took the place of.
    package var replaced: String?
    /// What the device shows now.
    package var notice: Notice
}
