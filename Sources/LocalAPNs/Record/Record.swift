/// Something that happened in the server.
package enum Record: Sendable {
    case request(RecordedRequest)
    case connection(ConnectionEvent)
    case delivery(DeliveryEvent)

    /// The request; nil if the record is of another kind.
    package var request: RecordedRequest? {
        guard case .request(let request) = self else { return nil }
        return request
    }
}

/// A request, and what the server decided about it. The record is made at the decision, before the answer is sent.
package struct RecordedRequest: Sendable {
    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// The number of the connection, counted from 1.
    package var connection: Int
    /// The HTTP/2 stream of the connection.
    package var stream: Int
    /// The status of the answer. Nil if the server decided not to answer; see then ``ending``.
    package var status: Int?
    /// The reason in the answer, or in the GOAWAY that was sent instead of an answer, such as `BadDeviceToken`. Nil if
    /// there is no reason.
    package var reason: String?
    /// What happened instead of an answer: `silence`, `drop`, `goaway`, or `reset` with its code; nil if ``status`` is
    /// set.
    package var ending: String?
    /// The client's `apns-id`. The server makes an ID if the client sent no valid one, or if an earlier check
    /// rejected the request.
    package var id: String
    /// The header `apns-unique-id` of the answer, which only a development server sends.
    package var uniqueID: String?
    /// The device token; nil if it is missing or malformed, or if an earlier check rejected the request.
    package var token: String?
    /// The topic in the request, or else the only topic of the client's certificate. Nil if there is no such topic, if
    /// the topic is malformed, or if an earlier check rejected the request.
    package var topic: String?
    /// The names and values of all headers except `authorization`, in their order.
    package var headers: [(name: String, value: String)]
    /// The time in the provider token, in seconds since 1970.
    package var tokenIssuedAt: Int64?
    /// The key's ID, from the header of the provider token.
    package var keyID: String?
    /// The payload as it was sent, without the bytes after the first ``PushRequest/keptBodyBytesMax``. Empty if the
    /// server answered before it read the payload.
    package var body: [UInt8]
    /// Whether an earlier request had the same `apns-id`; false if ``id`` is an ID that the server made.
    package var isRepeat: Bool
    /// Remarks on faults of the request, even if it was accepted.
    package var warnings: [String]
    /// What happened to an accepted push: `shown`, `replaced` (shown instead of an earlier push), `stored`,
    /// `overwritten` (stored instead of an earlier push), `dropped` or `expired`. Nil if the push was not
    /// accepted.
    package var fate: String?
    /// The `apns-id` of the earlier push that this push replaced, on the device or in the store.
    package var replaced: String?
    /// The payload as the device would show it; nil if the push was not accepted.
    package var notice: Notice?

    /// The value of the first header with this name, which must be in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// Something that happened to a connection.
package struct ConnectionEvent: Sendable {
    package enum Step: Sendable {
        /// - Parameter topic: The first topic of the client's certificate. Nil if the client showed no certificate, or
        ///   the certificate has no topic.
        case open(remote: String, topic: String?)
        /// The server announced this many streams.
        case settings(streams: Int)
        case goAway(lastStream: Int, code: String, debug: String)
        /// The client opened more streams than are allowed, and the server refused this one.
        case refused(stream: Int)
        /// The client reset a stream that was not answered yet.
        case reset(stream: Int, code: String)
        /// The connection ended after this many requests.
        case close(requests: Int)
        /// TLS or HTTP/2 failed.
        case failed(reason: String)
    }

    /// Milliseconds since 1970, by the server's clock.
    package var time: Int64
    /// The number of the connection, counted from 1; 0 if it failed before HTTP/2 began.
    package var connection: Int
    /// What happened.
    package var step: Step
}

/// A stored push was delivered to its device, or it expired.
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
    /// The `apns-id` of the earlier push that this push replaced on the device.
    package var replaced: String?
    /// The payload as the device would show it. An expired push is not shown.
    package var notice: Notice
}
