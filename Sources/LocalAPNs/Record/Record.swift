/// Something that happened, in the order it happened.
package enum Record: Sendable {
    case request(RecordedRequest)
    case connection(ConnectionEvent)
    case delivery(DeliveryEvent)

    /// Nil where something else than a request is recorded.
    package var request: RecordedRequest? {
        guard case .request(let request) = self else { return nil }
        return request
    }
}

/// A request and what became of it.
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
    /// As the client sent it, else as it was made here.
    package var id: String
    /// The header `apns-unique-id` of the answer, which a development server gives.
    package var uniqueID: String?
    /// The device's token, if it was one.
    package var token: String?
    /// As the client sent it, else its certificate's.
    package var topic: String?
    /// Names and values in their order, without `authorization`.
    package var headers: [(name: String, value: String)]
    /// Of the provider token: seconds since 1970, and the key's ID.
    package var tokenIssuedAt: Int64?
    /// The key's ID, from the header of the provider token.
    package var keyID: String?
    /// The payload as it was sent.
    package var body: [UInt8]
    /// Whether a request with this `apns-id` came before.
    package var isRepeat: Bool
    /// What Apple's documents advise against, in sentences.
    package var warnings: [String]
    /// What the device makes of it: `shown`, `replaced` (with the ID it took the place of), `stored`, `overwritten`,
    /// `dropped` or `expired`; nil: not accepted.
    package var fate: String?
    /// The `apns-id` of the push that this one took the place of.
    package var replaced: String?
    /// What the device shows of the payload; nil: nothing was accepted.
    package var notice: Notice?

    /// The first header of that name, in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// A step in a connection's life.
package struct ConnectionEvent: Sendable {
    /// What happened to the connection.
    package enum Step: Sendable {
        /// - Parameter topic: The first of the client's certificate; nil: it sends tokens.
        case open(remote: String, topic: String?)
        /// So many streams were announced.
        case settings(streams: Int)
        case goAway(lastStream: Int, code: String, debug: String)
        /// A stream too many.
        case refused(stream: Int)
        /// The client gave a stream up.
        case reset(stream: Int, code: String)
        case close(requests: Int)
        /// The client did not come as far as a request.
        case failed(reason: String)
    }

    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// Counted from 1.
    package var connection: Int
    /// What happened.
    package var step: Step
}

/// What became of a push that had waited for its device.
package struct DeliveryEvent: Sendable {
    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// The `apns-id` of the push.
    package var id: String
    /// The device's token.
    package var token: String
    /// The app's bundle ID.
    package var bundle: String
    /// As ``RecordedRequest/fate``.
    package var fate: String
    /// The `apns-id` of the push that this one took the place of.
    package var replaced: String?
    /// What the device shows now.
    package var notice: Notice
}
