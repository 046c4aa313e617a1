/// A request that is ready to be sent.
///
/// Its own fields are already encoded. The fields that it shares with other requests are encoded when it is sent,
/// because their encoding depends on the connection's dynamic table (RFC 7541, section 2.3.2).
struct HTTP2Request {
    /// The shared fields: `:authority` first, and then the other shared fields in any order. Requests share this array.
    var shared: [SharedField]
    /// The request's own fields, encoded without the dynamic table: `:path` first, and then the others. The request
    /// sends `:authority`, `:path`, the other shared fields, and the other own fields, in this order.
    var own: [UInt8]
    /// Where the `:path` field in ``own`` ends.
    var pathEnd: Int
    /// Bytes that contain the body at ``bodyRange``. Requests may share them.
    var body: [UInt8]
    var bodyRange: Range<Int>
}

/// What happened on a connection.
enum HTTP2Event {
    /// The server answered the request with this tag. The body may lack its end: because it is longer than
    /// ``HTTP2Session/answerBytesMax``, or because the server reset the stream.
    case answer(tag: Int, ResponseHead, body: [UInt8])
    /// The server did not process the request and never will (RFC 9113, section 8.7).
    case refused(tag: Int)
    /// The request ended without a complete and valid answer. The server may have processed it.
    case broken(tag: Int, HTTP2ErrorCode)
    /// The server sent SETTINGS.
    case settings(streamsMax: Int)
    /// An answer to our PING.
    case pong
    case goAway(lastStream: UInt32, HTTP2ErrorCode, debugData: [UInt8])
    /// The connection must be closed. The reason says how the server violated the protocol. An empty reason means that
    /// the client itself ends the connection.
    case failed(HTTP2ErrorCode, String)
}
