/// Something that happened, in the order it happened.
public enum Record: Sendable {
    case request(RecordedRequest)
    case connection(ConnectionEvent)
    case delivery(DeliveryEvent)

    /// Nil where something else than a request is recorded.
    public var request: RecordedRequest? {
        guard case .request(let request) = self else { return nil }
        return request
    }
}

/// A request and what became of it.
public struct RecordedRequest: Sendable {
    /// Milliseconds since 1970, by the server's clock.
    public var time: Int64
    /// Counted from 1.
    public var connection: Int
    /// The HTTP/2 stream of the connection.
    public var stream: Int
    /// nil: no answer; ``ending`` says why.
    public var status: Int?
    /// The reason in the answer's body, such as `BadDeviceToken`; nil: accepted, or no answer.
    public var reason: String?
    /// `silence`, `drop`, `goaway`, or `reset` with its code.
    public var ending: String?
    /// As the client sent it, else as it was made here.
    public var id: String
    /// The header `apns-unique-id` of the answer, which a development server gives.
    public var uniqueID: String?
    /// The device's token, if it was one.
    public var token: String?
    /// As the client sent it, else its certificate's.
    public var topic: String?
    /// Names and values in their order, without `authorization`.
    public var headers: [(name: String, value: String)]
    /// Of the provider token: seconds since 1970, and the key's ID.
    public var tokenIssuedAt: Int64?
    /// The key's ID, from the header of the provider token.
    public var keyID: String?
    /// The payload as it was sent.
    public var body: [UInt8]
    /// Whether a request with this `apns-id` came before.
    public var isRepeat: Bool
    /// What Apple's documents advise against, in sentences.
    public var warnings: [String]
    /// What the device makes of it: `shown`, `replaced` (with the ID it took the place of), `stored`, `overwritten`,
    /// `dropped` or `expired`; nil: not accepted.
    public var fate: String?
    /// The `apns-id` of the push that this one took the place of.
    public var replaced: String?
    /// What the device shows of the payload; nil: nothing was accepted.
    public var notice: Notice?

    /// The first header of that name, in lower case.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// A step in a connection's life.
public struct ConnectionEvent: Sendable {
    /// What happened to the connection.
    public enum Step: Sendable {
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
    public var time: Int64
    /// Counted from 1.
    public var connection: Int
    /// What happened.
    public var step: Step
}

/// What became of a push that had waited for its device.
public struct DeliveryEvent: Sendable {
    /// Milliseconds since 1970, by the server's clock.
    public var time: Int64
    /// The `apns-id` of the push.
    public var id: String
    /// The device's token.
    public var token: String
    /// The app's bundle ID.
    public var bundle: String
    /// As ``RecordedRequest/fate``.
    public var fate: String
    /// The `apns-id` of the push that this one took the place of.
    public var replaced: String?
    /// What the device shows now.
    public var notice: Notice
}
