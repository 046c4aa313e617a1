import NIOCore

/// The client's end of one HTTP/2 connection: a state machine that takes the server's bytes and makes ours.
///
/// It opens no socket and reads no clock. Whoever drives it sends what ``takeOutput()`` gives, and calls
/// ``close()`` when the connection is gone.
struct HTTP2Session {
    /// More of an answer's body is not kept: APNs' are a reason and a time.
    static let answerBytesMax = 4 << 10
    /// Our receive window for the whole connection.
    static let windowBytes = 16 << 20
    static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The largest stream number there may be (RFC 9113, section 5.1.1).
    static let lastStreamMax: UInt32 = 0x7FFF_FFFF

    /// How many streams the server allows; nil before its first SETTINGS.
    var streamsMax: Int?
    var streams = StreamTable()
    var events: [HTTP2Event] = []
    var output: ByteBuffer
    var nextStream: UInt32 = 1
    var goAwayLast: UInt32?
    var hasFailed = false

    // What the server allows us.
    var window = 65_535
    var initialWindow = 65_535
    var frameSizeMax = 16_384
    var table = HPACKTable()
    /// Bodies that wait for room, by stream, in the order of the streams.
    var blocked: [UInt32: BodyRest] = [:]

    // What comes in.
    let decoder = HeaderDecoder()
    /// The beginning of a frame whose end has not come.
    var partial: [UInt8] = []
    /// A header block that goes on in CONTINUATION frames.
    var openBlock: HeaderBlock?
    /// Answers that are not complete.
    var heads: [UInt32: ResponseHead] = [:]
    var bodies: [UInt32: [UInt8]] = [:]
    var unacknowledgedBytes = 0
    var block: [UInt8] = []

    struct BodyRest {
        let body: [UInt8]
        var range: Range<Int>
    }

    struct HeaderBlock {
        let stream: UInt32
        let endsStream: Bool
        var bytes: [UInt8]
    }

    /// Begins a connection: the preface and our settings are the first output.
    init() {
        output = ByteBuffer()
        output.writeString(Self.preface)
        writeSettings([(SettingID.enablePush, 0)])
        writeWindowUpdate(stream: 0, Self.windowBytes - 65_535)
    }

    /// How many requests it takes now. None after GOAWAY, and none when the numbers are used up.
    var room: Int {
        guard goAwayLast == nil, !hasFailed, let streamsMax else { return 0 }
        return min(max(0, streamsMax - streams.count), numbersLeft)
    }

    /// How many streams it has numbers for (RFC 9113, section 5.1.1).
    private var numbersLeft: Int { max(0, (Int(Self.lastStreamMax) - Int(nextStream)) / 2) }

    mutating func takeOutput() -> ByteBuffer {
        defer { output.clear(minimumCapacity: 0) }
        return output
    }

    mutating func takeEvents() -> [HTTP2Event] {
        defer { events = [] }
        return events
    }

    /// The connection is gone: every request without an answer is broken.
    mutating func close() {
        hasFailed = true
        endAll(above: 0) { .broken(tag: $0.tag, .cancel) }
    }

    /// Gives up a request: nobody can say whether the server processed it.
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
        guard !hasFailed else { return }
        hasFailed = true
        writeGoAway(code)
        events.append(.failed(code, reason))
    }
}
