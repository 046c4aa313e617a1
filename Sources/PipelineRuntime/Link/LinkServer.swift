import EventLog
import Events
import JSON
import PipelineKit
import Time
import ZeroMQ

/// The upstream end of a link. The server streams the log's batches to every consumer, from the consumer's position to
/// the live end, within the credit that the consumer has granted.
package final class LinkServer {
    package let socket: any MessageSocket
    private let logName: String
    private let identity: LogIdentity
    private let directory: String
    private var consumers: [[UInt8]: Consumer] = [:]
    private let frames = ControlFrames(side: .link, framesRule: "each message to this socket has one")
    /// The last sequence that consumers may see.
    private var last: UInt64
    private var promise: Promise?
    private let monotonicNow: @Sendable () -> ContinuousClock.Instant
    package private(set) var refusedFrames = 0
    private var laneLines = LaneLines()
    /// Set by the host: the answer to `health`.
    package var health: (_ forgetsPauses: Bool) -> [UInt8] = { _ in [] }

    /// The least credit that a consumer may open the link with, in bytes of events: twice the size of the largest
    /// event. An event is sent only to a consumer whose credit covers it.
    package static let creditMin = 4 << 20
    /// The most credit of a consumer. It is more than any consumer can use, and so small that sums of grants cannot
    /// overflow.
    private static let creditMax = 1 << 40
    /// A consumer that sends nothing for this long is forgotten. A running consumer sends several messages a second.
    package static let silenceMax = Duration.seconds(30)
    private static let consumersMax = 1_000
    /// After reading this many bytes for one consumer, the other consumers have their turn.
    private static let turnBytesMax = 2 << 20

    /// The first event in the log. Consumers that ask for an earlier event are refused.
    package var first: UInt64 = 1
    /// The first sequence that each consumer may ask for again, by name, as reported since the last ``takeReported()``.
    private var reported: [String: UInt64] = [:]

    private struct Promise: Equatable {
        var now: Instant
        var mark: UInt64
    }

    private struct Consumer {
        var name: String
        /// The lane whose lines the consumer wants; nil for all lines.
        var lane: Lane?
        var next: UInt64
        var credit: Int
        /// The first sequence that the consumer may ask for again; nil if it has reported no such sequence.
        var keep: UInt64?
        var reader: EventLogReader?
        var pending: PendingBatch?
        var promised: Promise?
        var lastHeard: ContinuousClock.Instant

        func isReady(for first: UInt64, _ bytes: Int) -> Bool { next == first && pending == nil && credit >= bytes }
    }

    private struct PendingBatch {
        var now: Instant
        var lines: [UInt8]
        var sent = 0

        func advanced(by bytes: Int) -> PendingBatch {
            var rest = self
            rest.sent += bytes
            return rest
        }
    }

    package init(
        socket: any MessageSocket, log: EventLogWriter, directory: String,
        monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.socket = socket
        self.monotonicNow = monotonicNow
        logName = log.name
        identity = log.identity
        self.directory = directory
        last = log.lastSequence
    }

    package var consumerStates: [(name: String, next: UInt64, credit: Int)] {
        consumers.values.map { ($0.name, $0.next, $0.credit) }.sorted { $0.name < $1.name }
    }

    // MARK: Sending

    /// The first sequence that each consumer may ask for again, by name, as reported since the last call; nil if no
    /// consumer has reported.
    package func takeReported() -> [String: UInt64]? {
        guard !reported.isEmpty else { return nil }
        defer { reported = [:] }
        return reported
    }

    /// The first sequence that is needed by a connected consumer whose name is not in `names`; `UInt64.max` if there is
    /// no such consumer.
    package func firstNeeded(besides names: [String]) -> UInt64 {
        consumers.values.filter { !names.contains($0.name) }.map { min($0.keep ?? .max, $0.next) }.min() ?? .max
    }

    /// Sends a new batch to every consumer that has all earlier events and enough credit. Other consumers get it from
    /// ``sendToConsumers()``.
    package func publish(first: UInt64, count: Int, now: Instant, body: UnsafeRawBufferPointer) throws {
        last = first + UInt64(count) - 1
        let control = LinkFrame.batch(first: first, count: count, now: now)
        for (peer, consumer) in consumers where consumer.isReady(for: first, body.count) {
            consumers[peer]?.reader = nil
            guard let lane = consumer.lane else {
                try send(control, body, to: peer, count: count)
                continue
            }
            let lines = laneLines.lines(body, first: first, of: lane)
            try lines.withUnsafeBytes { try send(control, $0, to: peer, count: count) }
        }
    }

    /// Shows consumers the log up to this sequence. The next ``sendToConsumers()`` sends them the events that they do
    /// not have yet.
    package func reveal(through sequence: UInt64) { last = max(last, sequence) }

    /// For virtual time: promises consumers that no later event has a time before `now`, and passes on a producer's
    /// mark: see ``Producer/moveTime(to:mark:)``.
    package func promise(now: Instant, mark: UInt64) { promise = Promise(now: now, mark: mark) }

    /// Sends lagging consumers as much as their credit and the turn's limit allow, and sends the promise of virtual
    /// time to consumers that have all events. Returns whether a consumer has reached the turn's limit. Then there may
    /// be more to send immediately.
    package func sendToConsumers() throws -> Bool {
        var isBusy = false
        for peer in Array(consumers.keys) {
            if try catchUp(peer) { isBusy = true }
            try sendPromise(peer)
        }
        return isBusy
    }

    private func catchUp(_ peer: [UInt8]) throws -> Bool {
        var budget = LinkServer.turnBytesMax
        while budget > 0 {
            guard let consumer = consumers[peer], consumer.credit > 0 else { return false }
            if consumer.pending == nil {
                guard let read = try fetch(consumer, for: peer) else { return false }
                budget -= read
            }
            guard try sendPending(to: peer) else { return false }
        }
        return true
    }

    /// Reads the batch with the consumer's next event from the log.
    ///
    /// - Returns: The size of the lines that were read, also of those that another lane takes; nil at the end of the
    ///   log.
    private func fetch(_ consumer: Consumer, for peer: [UInt8]) throws -> Int? {
        guard consumer.next <= last else { return nil }
        let reader = try consumer.reader ?? EventLogReader(directory: directory, from: .sequence(consumer.next))
        consumers[peer]?.reader = reader
        while let batch = try reader.next(through: last) {
            let header = batch.header
            guard header.count > 0, header.lastSequence >= consumer.next else { continue }
            let lines = EventLogReader.slice(batch.body, header: header, from: consumer.next)
            let own = consumer.lane.map { laneLines.lines(lines, first: consumer.next, of: $0) } ?? Array(lines)
            consumers[peer]?.pending = PendingBatch(now: header.now, lines: own)
            return lines.count
        }
        return nil
    }

    /// Sends as many whole lines of the pending batch as the credit allows. Returns false if there is no pending batch,
    /// or the credit does not cover its next line.
    private func sendPending(to peer: [UInt8]) throws -> Bool {
        guard let consumer = consumers[peer], let pending = consumer.pending else { return false }
        return try pending.lines.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[pending.sent...])
            let piece = LinkServer.wholeLines(of: rest, bytesMax: consumer.credit)
            guard piece.count > 0 else { return false }
            let isLast = pending.sent + piece.bytes.count == bytes.count
            consumers[peer]?.pending = isLast ? nil : pending.advanced(by: piece.bytes.count)
            let control = LinkFrame.batch(first: consumer.next, count: piece.count, now: pending.now)
            try send(control, piece.bytes, to: peer, count: piece.count)
            return true
        }
    }

    private static func wholeLines(of bytes: UnsafeRawBufferPointer, bytesMax: Int) -> (
        bytes: UnsafeRawBufferPointer, count: Int
    ) {
        var length = 0
        var count = 0
        for line in Lines(bytes) {
            guard length + line.count + 1 <= bytesMax else { break }
            length += line.count + 1
            count += 1
        }
        return (UnsafeRawBufferPointer(rebasing: bytes[..<length]), count)
    }

    private func send(_ control: [UInt8], _ body: UnsafeRawBufferPointer, to peer: [UInt8], count: Int) throws {
        let sent = try control.withUnsafeBytes { control in
            try peer.withUnsafeBytes { try socket.send([$0, control, body], wait: false) }
        }
        guard sent == .sent else { return forget(peer) }
        consumers[peer]?.credit -= body.count
        consumers[peer]?.next += UInt64(count)
    }

    private func sendPromise(_ peer: [UInt8]) throws {
        guard let promise, let consumer = consumers[peer], consumer.next > last, consumer.promised != promise else {
            return
        }
        try reply(peer, LinkFrame.time(after: last, now: promise.now, mark: promise.mark))
        consumers[peer]?.promised = promise
    }

    private func reply(_ peer: [UInt8], _ control: [UInt8]) throws {
        if try socket.send([peer, control], wait: false) != .sent { forget(peer) }
    }

    private func forget(_ peer: [UInt8]) { consumers[peer] = nil }

    // MARK: Receiving

    /// Handles every waiting control frame.
    package func receive() throws {
        while true {
            switch try frames.next(from: socket, refuse) {
            case .none: return
            case .refused: continue
            case .frame(let control, let peer): try handle(control, from: peer)
            }
        }
    }

    /// Forgets consumers that were silent for ``silenceMax``.
    package func forgetSilentConsumers(at time: ContinuousClock.Instant) {
        for (peer, consumer) in consumers where time - consumer.lastHeard > LinkServer.silenceMax { forget(peer) }
    }

    private func handle(_ control: JSONValue, from peer: [UInt8]) throws {
        switch control.text(.type) {
        case "open": try open(control, from: peer)
        case "credit": try credit(control, from: peer)
        case "close": forget(peer)
        case "health": try reply(peer, health(control.text("forget") == "pauses"))
        case let type:
            try refuse(peer, "link.type", "unknown frame type '\(type ?? "")'; known: open, credit, close, health")
        }
    }

    private func open(_ control: JSONValue, from peer: [UInt8]) throws {
        guard control.natural("protocol") == UInt64(LinkFrame.version) else {
            return try refuse(peer, "link.version", LinkFrame.wrongVersion(control, at: "link"))
        }
        guard let name = control.text("name"), let after = control.natural("after") else {
            return try refuse(peer, "link.open", "open needs \"name\" (text) and \"after\" (a sequence, 0 for all)")
        }
        guard let credit = control.natural("credit"), credit >= UInt64(LinkServer.creditMin),
            credit < UInt64(LinkServer.creditMax)
        else {
            return try refuse(
                peer, "link.credit",
                "open needs \"credit\", from \(LinkServer.creditMin) to \(LinkServer.creditMax - 1) bytes")
        }
        let lane: Lane?
        switch LinkServer.lane(control) {
        case .success(let found): lane = found
        case .failure(let mistake): return try refuse(peer, "link.lane", mistake.text)
        }
        guard after <= last else {
            return try refuse(peer, "link.after", "\"after\" is \(after), but '\(logName)' ends at \(last)")
        }
        guard after + 1 >= first else {
            return try refuse(
                peer, "link.gone",
                "events up to \(first - 1) of '\(logName)' were removed, as `log.retention` says; \"after\" is \(after)"
            )
        }
        guard consumers[peer] != nil || consumers.count < LinkServer.consumersMax else {
            return try refuse(
                peer, "link.consumers", "the stage already has \(LinkServer.consumersMax) consumers; close one first")
        }
        consumers[peer] = Consumer(
            name: name, lane: lane, next: after + 1, credit: Int(credit), lastHeard: monotonicNow())
        note(control, of: peer)
        try reply(peer, LinkFrame.welcome(log: logName, identity: identity, last: last, after: after, first: first))
    }

    private struct Mistake: Error { let text: String }

    private static func lane(_ control: JSONValue) -> Result<Lane?, Mistake> {
        if control["lane"] == nil, control["lanes"] == nil { return .success(nil) }
        guard let number = control.natural("lane"), let count = control.natural("lanes"),
            1...UInt64(Lane.countMax) ~= count, number < count
        else {
            return .failure(
                Mistake(text: "open needs \"lanes\" from 1 to \(Lane.countMax), and \"lane\" below that, or neither"))
        }
        return .success(Lane(Int(number), of: Int(count)))
    }

    private func credit(_ control: JSONValue, from peer: [UInt8]) throws {
        guard let consumer = consumers[peer] else {
            return try refuse(peer, "link.unknown_peer", "this consumer has no open link; send open first")
        }
        guard let bytes = control.natural("bytes"), bytes < UInt64(LinkServer.creditMax) else {
            let most = LinkServer.creditMax - 1
            return try refuse(peer, "link.credit", "credit needs \"bytes\", a whole number from 0 to \(most)")
        }
        consumers[peer]?.credit = min(LinkServer.creditMax, consumer.credit + Int(bytes))
        consumers[peer]?.lastHeard = monotonicNow()
        note(control, of: peer)
    }

    private func note(_ control: JSONValue, of peer: [UInt8]) {
        guard let keep = control.natural("keep"), let name = consumers[peer]?.name else { return }
        consumers[peer]?.keep = keep
        reported[name] = keep
    }

    private func refuse(_ peer: [UInt8], _ code: String, _ reason: String) throws {
        refusedFrames += 1
        _ = try socket.send([peer, LinkFrame.error(code, reason)], wait: false)
    }
}
