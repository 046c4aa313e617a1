import NIOCore

/// The client's end of one HTTP/2 connection: a state machine that reads the server's bytes and produces ours.
///
/// It has no socket and no clock. ``APNsConnection`` sends the bytes of ``takeOutput()``, and calls ``close()`` when
/// the connection is closed.
struct HTTP2Session {
    /// How many bytes of an answer's body are kept. APNs' answers hold only a reason and a time.
    static let answerBytesMax = 4 << 10
    /// Our receive window for the whole connection.
    static let windowBytes = 16 << 20
    static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The largest possible stream number (RFC 9113, section 5.1.1).
    static let lastStreamMax: UInt32 = 0x7FFF_FFFF

    /// How many streams may be open at the same time: the server's limit, or 1,000 if the server sets no limit. Nil
    /// before the server's first SETTINGS.
    var streamsMax: Int?
    var streams = StreamTable()
    var events: [HTTP2Event] = []
    var output: ByteBuffer
    var nextStream: UInt32 = 1
    /// The last stream that the server's GOAWAY frames allow; nil if there was no GOAWAY.
    var goAwayLast: UInt32?
    /// Whether no more bytes are read and no requests are submitted: the protocol was violated, or the connection is
    /// closed.
    var hasEnded = false

    // Sending.
    var window = 65_535
    var initialWindow = 65_535
    var frameSizeMax = 16_384
    var table = HPACKTable()
    /// The header block of the current request. The buffer is reused.
    var block: [UInt8] = []
    /// The parts of bodies that were not sent yet, by stream. They wait until the server enlarges its windows.
    var blocked: [UInt32: BodyRest] = [:]

    // Receiving.
    let decoder = HeaderDecoder()
    /// The beginning of a frame that has not arrived completely.
    var partial: [UInt8] = []
    /// A header block that continues in CONTINUATION frames.
    var openBlock: HeaderBlock?
    /// The heads of incomplete answers, by stream.
    var heads: [UInt32: ResponseHead] = [:]
    /// The bodies of incomplete answers, by stream.
    var bodies: [UInt32: [UInt8]] = [:]
    /// The number of received bytes that our window updates do not cover yet.
    var unacknowledgedBytes = 0

    struct BodyRest {
        let body: [UInt8]
        var range: Range<Int>
    }

    struct HeaderBlock {
        let stream: UInt32
        let endsStream: Bool
        var bytes: [UInt8]
    }

    /// Begins a connection: the first output is the preface, our settings, and an update that enlarges our window.
    init() {
        output = ByteBuffer()
        output.writeString(Self.preface)
        writeSettings([(SettingID.enablePush, 0)])
        writeWindowUpdate(stream: 0, Self.windowBytes - 65_535)
    }

    /// How many requests can be submitted now: 0 before SETTINGS, after GOAWAY or the end of the session, and when all
    /// streams are in use or the stream numbers are used up.
    var room: Int {
        guard goAwayLast == nil, !hasEnded, let streamsMax else { return 0 }
        return min(max(0, streamsMax - streams.count), numbersLeft)
    }

    /// How many streams can still get a number (RFC 9113, section 5.1.1).
    private var numbersLeft: Int { max(0, (Int(Self.lastStreamMax) - Int(nextStream)) / 2) }

    mutating func takeOutput() -> ByteBuffer {
        defer { output.clear(minimumCapacity: 0) }
        return output
    }

    mutating func takeEvents() -> [HTTP2Event] {
        defer { events = [] }
        return events
    }

    /// Ends all open requests, because the connection is closed.
    mutating func close() {
        hasEnded = true
        endAll(above: 0) { .broken(tag: $0.tag, .cancel) }
    }

    /// Gives up a request. The server may have processed it.
    mutating func cancel(tag: Int) {
        guard let stream = streams.id(of: tag), streams.remove(stream) != nil else { return }
        forget(stream)
        writeReset(stream, .cancel)
        events.append(.broken(tag: tag, .cancel))
    }

    mutating func forget(_ stream: UInt32) {
        if !blocked.isEmpty { blocked[stream] = nil }
        if !heads.isEmpty { heads[stream] = nil }
        if !bodies.isEmpty { bodies[stream] = nil }
    }

    mutating func endAll(above stream: UInt32, _ event: (StreamTable.Stream) -> HTTP2Event) {
        for removed in streams.removeAll(above: stream) {
            forget(removed.id)
            events.append(event(removed))
        }
    }

    mutating func fail(_ code: HTTP2ErrorCode, _ reason: String) {
        guard !hasEnded else { return }
        hasEnded = true
        writeGoAway(code)
        events.append(.failed(code, reason))
    }
}
