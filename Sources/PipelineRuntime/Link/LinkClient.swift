import Events
import JSON
import PipelineKit
import Time
import ZeroMQ

/// The downstream end of a link. The client opens the link at a position in the log, takes batches in order, and opens
/// the link again after a loss. It grants credit when its owner has made outputs durable.
package final class LinkClient {
    /// A message from the upstream.
    package enum Arrival {
        case welcome(log: String, identity: LogIdentity, last: UInt64)
        case batch(first: UInt64, count: Int, now: Instant, lines: UnsafeRawBufferPointer)
        /// In virtual time: no later event has a time before `now`. For `mark` see ``Producer/moveTime(to:mark:)``.
        case time(now: Instant, mark: UInt64)
    }

    package static let creditDefault = 8 << 20
    /// If a consumer has sent no message for this long, the next ``tick(at:)`` sends one. An upstream that was
    /// restarted answers it with the error `link.unknown_peer`; then the consumer opens the link again.
    package static let heartbeat = Duration.milliseconds(200)
    /// How often a consumer sends `open` until the upstream answers with `welcome`.
    private static let openInterval = Duration.milliseconds(20)

    package let socket: any MessageSocket
    package private(set) var endpoint: String
    /// Where the upstream is now, if it can move to another machine; nil while that is unknown.
    package var currentEndpoint: () -> String? = { nil }
    private let name: String
    private let lane: Lane?
    private let credit: Int
    private var next: UInt64
    private var isWelcomed = false
    private var collectedCredit = 0
    /// The sequence of the last malformed batch that was reported, so that each malformed batch is reported once.
    private var lastReported: UInt64 = 0
    private let monotonicNow: @Sendable () -> ContinuousClock.Instant
    private var lastSent: ContinuousClock.Instant
    private let message = ZMQMultipart()
    private var parser = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))
    package private(set) var refusedFrames = 0
    private var refusal: ConnectionRefusal?
    /// The first sequence that this consumer may ask for again; nil while it is unknown. The client tells it to the
    /// upstream, whose retention then keeps the events from this sequence on.
    package var firstNeeded: UInt64?
    /// The first sequence in the upstream's log, according to its last welcome.
    package private(set) var upstreamFirst: UInt64 = 1

    package init(
        _ socket: any MessageSocket, endpoint: String, name: String, after: UInt64, lane: Lane? = nil,
        credit: Int = LinkClient.creditDefault,
        monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws(ZMQError) {
        self.socket = socket
        self.endpoint = endpoint
        self.name = name
        self.lane = lane
        self.credit = credit
        self.monotonicNow = monotonicNow
        lastSent = monotonicNow()
        next = after + 1
        try socket.connect(endpoint)
        try open()
    }

    /// Tells the upstream to stop sending.
    package func close() throws(ZMQError) { _ = try socket.send([LinkFrame.close()], wait: false) }

    /// Grants the bytes of events whose outputs are durable. Small grants are collected first.
    package func grant(_ bytes: Int) throws(ZMQError) {
        collectedCredit += bytes
        if collectedCredit >= credit / 8 { try sendCredit() }
    }

    /// How often ``tick(at:)`` must be called.
    package var pollTimeout: Duration { isWelcomed ? LinkClient.heartbeat : LinkClient.openInterval }

    /// Sends the collected credit, or opens the link, if ``pollTimeout`` has passed since the consumer last sent a
    /// message. Also reports a refused connection to the operator.
    package func tick(at time: ContinuousClock.Instant) throws(ZMQError) {
        guard time - lastSent >= pollTimeout else { return }
        if let current = currentEndpoint(), current != endpoint { return try move(to: current) }
        try checkConnection(at: time)
        if isWelcomed { try sendCredit() } else { try open() }
    }

    private func move(to current: String) throws(ZMQError) {
        try socket.move(to: current)
        endpoint = current
        try openAgain()
    }

    private func checkConnection(at time: ContinuousClock.Instant) throws(ZMQError) {
        let found = try socket.checkConnection(at: time)
        guard found != refusal else { return }
        refusal = found
        guard let found else { return }
        StandardError.write("\(name): \(LinkError.connectionRefused(endpoint: endpoint, found, purpose: "reading"))")
    }

    private func sendCredit() throws(ZMQError) {
        _ = try socket.send([LinkFrame.credit(collectedCredit, keep: firstNeeded)], wait: false)
        collectedCredit = 0
        lastSent = monotonicNow()
    }

    private func open() throws(ZMQError) {
        let frame = LinkFrame.open(name: name, after: next - 1, credit: credit, keep: firstNeeded, lane: lane)
        _ = try socket.send([frame], wait: false)
        collectedCredit = 0
        lastSent = monotonicNow()
    }

    /// Starts reading at another position.
    package func open(after: UInt64) throws(ZMQError) {
        next = after + 1
        try openAgain()
    }

    private func openAgain() throws(ZMQError) {
        isWelcomed = false
        try open()
    }

    /// The next message; nil if no message is left. Skips malformed messages, and messages that answer an earlier
    /// `open`.
    ///
    /// - Throws: ``LinkError`` if the upstream answers with an error other than `link.unknown_peer`. After
    ///   `link.unknown_peer`, the client opens the link again. ``ZMQError`` if the socket fails.
    ///
    /// The message's pointers are valid until the next call. The compiler cannot check this for a class.
    package func receive() throws -> Arrival? {
        while true {
            switch try socket.receive(into: message, wait: false) {
            case .empty: return nil
            case .tooManyFrames: refusedFrames += 1
            case .received:
                if let arrival = try handleMessage() { return arrival }
            }
        }
    }

    private func handleMessage() throws -> Arrival? {
        let control: JSONValue
        do throws(JSONError) { control = try parser.parse(message[0]) } catch {
            refusedFrames += 1
            return nil
        }
        switch control.text(.type) {
        case "batch": return try batch(control)
        case "time": return time(control)
        case "welcome": return welcome(control)
        case "error": return try handleError(control)
        default:
            refusedFrames += 1
            return nil
        }
    }

    private func batch(_ control: JSONValue) throws -> Arrival? {
        guard message.count == 2, let first = control.natural(.first), let count = control.natural(.count), count > 0,
            let now = control["now"]?.int64
        else {
            refusedFrames += 1
            return nil
        }
        // A batch before the welcome belongs to an earlier opening. If a batch is out of order, messages were lost, or
        // the upstream got `open` twice and sends the batches again.
        guard isWelcomed else { return nil }
        guard first == next else {
            try openAgain()
            return nil
        }
        let lines = message[1]
        guard Lines.areWhole(lines), Lines.count(lines) == count else {
            dropBatch(withLines: Lines.count(lines), first, count)
            return nil
        }
        next += count
        return .batch(first: first, count: Int(count), now: Instant(microseconds: now), lines: lines)
    }

    /// Drops a batch whose last line is incomplete, or whose number of lines differs from the announced number. The
    /// link is opened again only after a pause (``openInterval``), since the next batch may be wrong too. The
    /// upstream's log still has the events.
    private func dropBatch(withLines lines: UInt64, _ first: UInt64, _ count: UInt64) {
        refusedFrames += 1
        isWelcomed = false
        lastSent = monotonicNow()
        guard lastReported != first else { return }
        lastReported = first
        StandardError.write(
            """
            \(name): \(endpoint) announced \(count) events from sequence \(first) and sent \(lines) whole lines; \
            asking for them again
            """)
    }

    private func time(_ control: JSONValue) -> Arrival? {
        guard isWelcomed, let after = control.natural("after"), after + 1 == next,
            let now = control["now"]?.int64
        else {
            return nil
        }
        return .time(now: Instant(microseconds: now), mark: control.natural("mark") ?? 0)
    }

    private func welcome(_ control: JSONValue) -> Arrival? {
        guard let log = control.text(.log), let identity = control.text("identity").flatMap(LogIdentity.init(uuid:)),
            let last = control.natural(.last), control.natural("after") == next - 1
        else {
            refusedFrames += 1
            return nil
        }
        isWelcomed = true
        upstreamFirst = control.natural(.first) ?? 1
        return .welcome(log: log, identity: identity, last: last)
    }

    private func handleError(_ control: JSONValue) throws -> Arrival? {
        let code = control.text(.code) ?? "link.error"
        guard code != "link.unknown_peer" else {
            if isWelcomed { try openAgain() }
            return nil
        }
        throw LinkError.refused(endpoint: endpoint, code: code, reason: control.text(.reason) ?? "no reason given")
    }
}
