/// Something that happened, in the order it happened.
public enum Record: Sendable {
    case request(RecordedRequest)
    case connection(ConnectionEvent)
    case delivery(DeliveryEvent)

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
    public var stream: Int
    /// nil: no answer; ``ending`` says why.
    public var status: Int?
    public var reason: String?
    /// `silence`, `drop`, `goaway`, or `reset` with its code.
    public var ending: String?
    /// As the client sent it, else as it was made here.
    public var id: String
    public var uniqueID: String?
    /// The device's token, if it was one.
    public var token: String?
    /// As the client sent it, else its certificate's.
    public var topic: String?
    /// Names and values in their order, without `authorization`.
    public var headers: [(name: String, value: String)]
    /// Of the provider token: seconds since 1970, and the key's ID.
    public var tokenIssuedAt: Int64?
    public var keyID: String?
    public var body: [UInt8]
    /// Whether a request with this `apns-id` came before.
    public var isRepeat: Bool
    public var warnings: [String]
    /// What the device makes of it: `shown`, `replaced` (with the ID it took the place of), `stored`, `overwritten`,
    /// `dropped` or `expired`; nil: not accepted.
    public var fate: String?
    public var replaced: String?
    public var notice: Notice?

    /// The first header of that name, in lower case.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// A step in a connection's life.
public struct ConnectionEvent: Sendable {
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

    public var time: Int64
    public var connection: Int
    public var step: Step
}

/// What became of a push that had waited for its device.
public struct DeliveryEvent: Sendable {
    public var time: Int64
    public var id: String
    public var token: String
    public var bundle: String
    public var fate: String
    public var replaced: String?
    public var notice: Notice
}
