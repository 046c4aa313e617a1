import Events
import JSON
import PipelineKit
import Time
import ZeroMQ

/// The producer's end of the connection to a door. Sends numbered lines, keeps them until they are acknowledged, and
/// sends them again after the ingest stage was restarted. Belongs to one thread.
///
/// A producer's name has an owner, and only the owner can use the name again. The owner is the name under which the
/// pipeline file lists the producer's CURVE key. If the producer has no key, or uses the key of a stage, the owner is
/// whoever has the producer's secret.
package final class Producer {
    /// The door's answer to some lines.
    package struct Answer: Sendable, Hashable {
        /// Every line up to this one is accepted or refused, and the log's record of this is durable.
        package var through: UInt64
        package var accepted: Int
        package var refused: Int
        package var refusals: [Refusal]
        /// The last sequence of the changes log when the door answered.
        package var last: UInt64
        package var saved: [Saved] = []
        /// The number of warnings about the subscriptions of this answer. ``saved`` lists at most 1,000 of these
        /// warnings.
        package var warnings = 0
    }

    /// Lines whose answers were lost while the ingest stage restarted. The door has accepted or refused each of them.
    package struct LostAnswers: Sendable, Hashable {
        package var lines: ClosedRange<UInt64>
        /// The events of these lines are in the changes log at or before this sequence.
        package var last: UInt64
    }

    /// A subscription that a line saved.
    package struct Saved: Sendable, Hashable {
        package var line: UInt64
        package var subscription: SavedSubscription
        /// The sequence of the event of the changes log that saved the subscription. The subscription watches every
        /// later change.
        package var activeFrom: UInt64
    }

    package struct Refusal: Sendable, Hashable {
        package var line: UInt64
        package var code: String
        package var path: String
        package var reason: String
    }

    private struct UnansweredLines {
        var first: UInt64
        var count: Int
        var lines: [UInt8]
        var isSent = false
        var last: UInt64 { first + UInt64(count) - 1 }
    }

    /// A caller should stop sending while this many bytes have no answer; see ``hasRoom``.
    package static let windowBytes = 4 << 20
    /// If lines are unanswered and the door sends nothing for this long, the producer asks which lines the door has.
    private static let silenceMax = Duration.milliseconds(500)

    package let socket: any MessageSocket
    private var endpoint: String
    /// Where the door is now, if it can move to another machine; nil while that is unknown.
    package var currentEndpoint: () -> String? = { nil }
    package let name: String
    private let secret: String
    private var unanswered: [UnansweredLines] = []
    private var unansweredBytes = 0
    /// The number of the next new line.
    private var next: UInt64 = 1
    private let monotonicNow: @Sendable () -> ContinuousClock.Instant
    private var lastHeard: ContinuousClock.Instant
    private var lastAsked: ContinuousClock.Instant
    private var isWelcomed = false
    /// The last line that the door is known to have accepted or refused.
    private var settled: UInt64 = 0
    /// How many of the lines up to `settled` are known to be refused.
    private var refusedKnown: UInt64 = 0
    /// Whether it is still unknown how many of the lines with lost answers were refused. The next `welcome` says this.
    private var lacksRefusedCount = false
    private let message = ZMQMultipart()
    private let poller = ZMQPoller()
    private var watching: (input: Int32, poller: ZMQPoller)?
    private var parser = JSONParser(limits: JSONLimits(bytesMax: 16 << 20, depthMax: 8))
    /// Called for every answer. Answers and lost answers come in the order of their lines, and each line is in one of
    /// them.
    package var onAnswer: (Answer) -> Void = { _ in }
    package var onLostAnswers: (LostAnswers) -> Void = { _ in }
    /// How many of the lines with lost answers the door refused. Nil if the door does not know the number, or has not
    /// sent it yet.
    package var refusedWithoutAnswer: UInt64? { lacksRefusedCount ? nil : refusedCountWithoutAnswer }
    private var refusedCountWithoutAnswer: UInt64? = 0
    /// The greatest mark of ``moveTime(to:mark:)`` that the door has sent back.
    package private(set) var timeMark: UInt64 = 0
    /// The last sequence of the changes log, as far as the door has reported it.
    package private(set) var logLast: UInt64 = 0
    /// How many lines of this producer the door already had at its first `welcome`.
    package private(set) var linesAtWelcome: UInt64 = 0
    /// The checksum of these lines; nil if the door does not know the checksum.
    package private(set) var checksumAtWelcome: LineChecksum?
    /// How many of these lines were refused; nil if the door does not know the number.
    package private(set) var refusedAtWelcome: UInt64?
    private var connectionRefusal: ConnectionRefusal?

    package init(
        _ socket: any MessageSocket, endpoint: String, name: String, secret: String, wake: WakeSignal? = nil,
        monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws {
        self.socket = socket
        self.endpoint = endpoint
        self.name = name
        self.secret = secret
        self.monotonicNow = monotonicNow
        (lastHeard, lastAsked) = (monotonicNow(), monotonicNow())
        try socket.connect(endpoint)
        poller.add(socket)
        if let wake { poller.add(wake) }
    }

    /// Whether fewer than ``windowBytes`` bytes have no answer.
    package var hasRoom: Bool { unansweredBytes < Producer.windowBytes }
    /// Whether each line is answered or its answer is known to be lost, and the door has said how many of the lines
    /// with lost answers it refused.
    package var isDone: Bool { unanswered.isEmpty && !lacksRefusedCount }

    /// Asks the door how many of this producer's lines the door has, and returns this number. Throws ``LinkError`` if
    /// no door answers in time, or if the door refuses the connection or the name.
    ///
    /// Once the door has answered, a further call does not ask again. It returns the number of the last line that the
    /// caller has passed to ``send(_:count:)``, even if the door does not have this line yet. Before the first such
    /// line, it returns the door's number.
    package func greet(timeout: Duration) throws -> UInt64 {
        _ = try greet(timeout: timeout) { true }
        return next - 1
    }

    /// As ``greet(timeout:)``, but only while `isWanted` is true. Nil if `isWanted` became false before the door
    /// answered.
    package func greet(timeout: Duration, while isWanted: () -> Bool) throws -> UInt64? {
        let deadline = ContinuousClock.now + timeout
        while !isWelcomed {
            guard isWanted() else { return nil }
            guard .now < deadline else { throw silence(waited: timeout) }
            try ask()
            try pump(wait: .milliseconds(100))
        }
        return next - 1
    }

    /// The error for a door that has not answered.
    package func silence(waited: Duration) -> LinkError {
        connectionRefusal.map(connectionRefused) ?? LinkError.silent(endpoint: endpoint, waited: waited)
    }

    private func connectionRefused(_ refusal: ConnectionRefusal) -> LinkError {
        .connectionRefused(endpoint: endpoint, refusal, purpose: "producing")
    }

    /// Sends `count` lines; each ends with a line feed. The first of these lines gets the next number.
    package func send(_ lines: [UInt8], count: Int) throws {
        guard count > 0 else { return }
        unanswered.append(UnansweredLines(first: next, count: count, lines: lines))
        next += UInt64(count)
        unansweredBytes += lines.count
        try flush()
    }

    /// Moves the pipeline's virtual time; only for a pipeline in virtual time.
    ///
    /// - Parameter mark: A number that the caller chooses, greater than in earlier calls. The door sends it back (see
    ///   ``timeMark``) when the source has done all earlier work. Later stages may still be working: each passes the
    ///   mark on to its readers when it has done its own earlier work.
    package func moveTime(to now: Instant, mark: UInt64) throws {
        let frame = LinkFrame.time(after: 0, now: now, mark: mark)
        _ = try socket.send([frame], wait: true)
    }

    /// Waits at most `wait` for answers, or until the descriptor `input` is readable. Without `input`, the wake signal
    /// ends the wait too. Then handles all answers that came.
    package func pump(wait: Duration, input: Int32? = nil) throws {
        _ = try poller(input).poll(timeoutMilliseconds: Int(wait / .milliseconds(1)))
        try work()
    }

    /// Handles all answers that came, asks a silent door again, and sends lines that are not sent yet.
    func work() throws {
        while try socket.receive(into: message, wait: false) == .received { try handleMessage() }
        let now = monotonicNow()
        let isSilent = now - lastHeard > Producer.silenceMax
        if !isWelcomed || isSilent { try checkConnection(at: now) }
        if !isDone, isSilent, now - lastAsked > Producer.silenceMax { try ask() }
        try flush()
    }

    private func checkConnection(at now: ContinuousClock.Instant) throws {
        connectionRefusal = try socket.checkConnection(at: now)
        if let connectionRefusal, connectionRefusal.isCertain { throw connectionRefused(connectionRefusal) }
    }

    private func poller(_ input: Int32?) -> ZMQPoller {
        guard let input else { return poller }
        if let watching, watching.input == input { return watching.poller }
        let both = ZMQPoller()
        both.add(socket)
        both.add(fileDescriptor: input)
        watching = (input, both)
        return both
    }

    private func ask() throws {
        lastAsked = monotonicNow()
        if let current = currentEndpoint(), current != endpoint {
            try socket.move(to: current)
            endpoint = current
        }
        _ = try socket.send([LinkFrame.hello(producer: name, secret: secret)], wait: false)
    }

    private func flush() throws {
        guard isWelcomed else { return }
        for index in unanswered.indices where !unanswered[index].isSent {
            let frame = LinkFrame.produce(producer: name, secret: secret, first: unanswered[index].first)
            guard try socket.send([frame, unanswered[index].lines], wait: false) == .sent else { return }
            unanswered[index].isSent = true
        }
    }

    private func handleMessage() throws {
        let control: JSONValue
        do throws(JSONError) { control = try parser.parse(message[0]) } catch { return }
        lastHeard = monotonicNow()
        switch control.text(.type) {
        case "welcome": welcome(control, through: control.natural("after") ?? 0)
        case "answer": try answer(control)
        case "time": timeMark = max(timeMark, control.natural("mark") ?? 0)
        case "error": try handleError(control)
        default: return
        }
    }

    private func handleError(_ control: JSONValue) throws {
        let code = control.text(.code) ?? "door.error"
        // Some lines were lost on the way: the door's answer says where to resume.
        guard code != "door.gap" else { return try ask() }
        throw LinkError.refused(endpoint: endpoint, code: code, reason: control.text(.reason) ?? "no reason given")
    }

    private func welcome(_ control: JSONValue, through: UInt64) {
        if !isWelcomed {
            next = max(next, through + 1)
            linesAtWelcome = through
            checksumAtWelcome = control.natural("checksum").map { LineChecksum(UInt32(truncatingIfNeeded: $0)) }
            refusedAtWelcome = control.natural("refused")
        }
        logLast = max(logLast, control.natural(.last) ?? 0)
        if isWelcomed {
            noteLostAnswers(through: through)
            noteRefusedWithoutAnswer(total: control.natural("refused"))
        } else {
            (settled, refusedKnown) = (through, refusedAtWelcome ?? 0)
        }
        isWelcomed = true
        removeAnswered(through: through)
        for index in unanswered.indices { unanswered[index].isSent = false }
    }

    private func noteLostAnswers(through line: UInt64) {
        guard line > settled else { return }
        let first = settled + 1
        settled = line
        lacksRefusedCount = true
        onLostAnswers(LostAnswers(lines: first...line, last: logLast))
    }

    private func noteRefusedWithoutAnswer(total: UInt64?) {
        guard lacksRefusedCount else { return }
        lacksRefusedCount = false
        refusedCountWithoutAnswer = refusedCountWithoutAnswer.flatMap { count in
            total.map { count + $0 - min($0, refusedKnown) }
        }
        refusedKnown = max(total ?? 0, refusedKnown)
    }

    private func answer(_ control: JSONValue) throws {
        guard let through = control.natural("through") else { return }
        logLast = max(logLast, control.natural(.last) ?? 0)
        let (accepted, refused) = (control.natural("accepted") ?? 0, control.natural("refused") ?? 0)
        // The answer covers the `accepted + refused` lines that end at `through`. The door got all earlier lines before
        // its restart; their answers are lost.
        noteLostAnswers(through: through - min(through, accepted + refused))
        settled = max(settled, through)
        refusedKnown += refused
        removeAnswered(through: through)
        onAnswer(
            Answer(
                through: through, accepted: Int(accepted), refused: Int(refused),
                refusals: control["refusals"].map { $0.elements.map(Producer.refusal) } ?? [], last: logLast,
                saved: control["saved"].map { $0.elements.map(Producer.saved) } ?? [],
                warnings: Int(control.natural("warnings") ?? 0)))
        if lacksRefusedCount { try ask() }
    }

    private static func saved(_ value: JSONValue) -> Saved {
        Saved(
            line: value.natural("line") ?? 0,
            subscription: SavedSubscription(
                subscriptionID: value.text(.subscriptionID) ?? "",
                warnings: value["warnings"].map { $0.elements.map(Producer.warning) } ?? []),
            activeFrom: value.natural("activeFrom") ?? 0)
    }

    private static func warning(_ value: JSONValue) -> SavedSubscription.Warning {
        SavedSubscription.Warning(
            code: value.text(.code) ?? "", path: value.text(.path) ?? "",
            offset: value.natural("offset").map { Int($0) }, reason: value.text(.reason) ?? "")
    }

    private static func refusal(_ value: JSONValue) -> Refusal {
        Refusal(
            line: value.natural("line") ?? 0, code: value.text(.code) ?? "", path: value.text(.path) ?? "",
            reason: value.text(.reason) ?? "")
    }

    private func removeAnswered(through: UInt64) {
        let answered = unanswered.prefix { $0.last <= through }
        unansweredBytes -= answered.reduce(0) { $0 + $1.lines.count }
        unanswered.removeFirst(answered.count)
    }
}
