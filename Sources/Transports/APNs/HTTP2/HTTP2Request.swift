/// A request as the wire takes it.
///
/// What is its own is already encoded; what it shares with others is encoded for each connection's table.
struct HTTP2Request {
    /// `:authority` first, then the rest in any order. The same array for all requests that share it.
    var shared: [SharedField]
    /// The `:path` field and then those behind the shared ones, encoded without a table.
    var own: [UInt8]
    /// Where ``own``'s `:path` ends.
    var pathEnd: Int
    /// Holds the body at ``bodyRange``; may be shared by any number of requests.
    var body: [UInt8]
    var bodyRange: Range<Int>
}

/// What a server did.
enum HTTP2Event {
    /// The answer to the request of that tag is complete.
    case answer(tag: Int, ResponseHead, body: [UInt8])
    /// The server did not process the request and never will (RFC 9113, section 8.7).
    case refused(tag: Int)
    /// The request has no answer, and nobody can say whether it was processed.
    case broken(tag: Int, HTTP2ErrorCode)
    /// Settings came: ``HTTP2Session/streamsMax`` may have changed.
    case settings(streamsMax: Int)
    /// An answer to our PING.
    case pong
    case goAway(lastStream: UInt32, HTTP2ErrorCode, debugData: [UInt8])
    /// The server broke the protocol: the connection is to be closed.
    case failed(HTTP2ErrorCode, String)
}
