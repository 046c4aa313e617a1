import EventLog
import Events
import Glibc
import JSON
import PipelineKit
import Time
import ZeroMQ

/// The calls that the loop of a plugin's program makes to the ``PluginProcess`` that keeps the program running.
struct PluginCallbacks {
    /// Called when the program has opened its link. Returns how the previous run of the program ended; nil if no run
    /// has ended since the last call.
    var onOpen: () -> ChildProcess.Exit? = { nil }
    /// Called when the event that the program crashed on is set aside.
    var onSetAside: () -> Void = {}
    /// Whether the program has ended, and the next one has not opened its link.
    var isDown: () -> Bool = { false }
}

/// The loop of a stage that is a program in another language.
///
/// The program connects a DEALER to the endpoint in `BELFRY_LINK` and sends `open`. It gets `welcome` and `batch`
/// frames, as any consumer does. It sends back `outputs` frames, each with the sequence of the last event that the
/// outputs answer. The host appends the outputs with that sequence as the cursor, so the program needs no log. A
/// program that starts again gets all unanswered events again.
final class PluginLoop: HostWork {
    var state: HostState
    let outlet: StageOutlet
    private let plan: HostPlan
    private let inlet: any StageInlet
    private let plugin: ZMQSocket
    private let control: HostControl
    private var out = Outbox()
    private var programOutputs = ProgramOutputs()
    private let frames = ControlFrames(side: .link, framesRule: #"an "outputs" message has two, an "open" message one"#)
    private var peer: [UInt8]?
    private var upstream: (name: String, identity: LogIdentity)?
    private var unanswered: [UnansweredBatch] = []
    private var now: Instant
    /// What the upstream promised last: no event with a time before `now` follows.
    private var upstreamPromise: (now: Instant, mark: UInt64)?
    /// The mark that was last passed on to consumers.
    private var passedMark: UInt64 = 0
    private var eventsIn: UInt64 = 0
    private var refusedFrames = 0
    /// When the program last answered, or when the host began to wait for it.
    private var silentSince = ContinuousClock.now
    private var hasComplained = false
    /// The codes of the program's mistakes that were reported to the operator.
    private var reportedMistakes: Set<String> = []
    /// Whether the socket may have messages from the program.
    private var hasFrames = false
    var callbacks = PluginCallbacks()
    /// Events through this one are sent one at a time, because a program crashed before it answered them.
    private var sendSinglyThrough: UInt64 = 0
    /// How often in a row a program crashed on one event.
    private var crashes: (sequence: UInt64, count: UInt64) = (0, 0)
    private var setAsideInARow: UInt64 = 0
    /// Why the host last refused a frame of the program. Nil if it has refused no frame since it last accepted outputs.
    private var refusal: String?

    private static let silenceMax = Duration.seconds(10)

    /// A batch that the program has not answered yet.
    private struct UnansweredBatch {
        var first: UInt64
        var count: Int
        var now: Instant
        var lines: [UInt8]
        var last: UInt64 { first + UInt64(count) - 1 }

        /// The batch's events, each as a batch of its own.
        var events: [UnansweredBatch] {
            guard count > 1 else { return [self] }
            return lines.withUnsafeBytes { lines in
                zip(first..., Lines(lines)).map { sequence, line in
                    UnansweredBatch(first: sequence, count: 1, now: now, lines: Array(line) + [UInt8(ascii: "\n")])
                }
            }
        }
    }

    init(_ plan: HostPlan, _ control: HostControl, outlet: StageOutlet, inlet: any StageInlet, plugin: ZMQSocket) {
        self.plan = plan
        self.control = control
        self.outlet = outlet
        self.inlet = inlet
        self.plugin = plugin
        now = outlet.log.lastNow
        state = .caughtUp(through: outlet.log.cursor.input?.position ?? 0)
    }

    var sockets: [any MessageSocket] { [inlet.socket, plugin] }
    var timeout: Duration { inlet.pollTimeout }
    func willRemoveEvents(before first: UInt64) {}
    /// The last event that the program has answered.
    private var answered: UInt64 { state.committed }
    /// Also true while the host stops, because the program's last outputs are input too.
    var wantsInput: Bool { state.held == nil }
    /// The events from the first unanswered event on. A program that starts again gets only these events again.
    var retentionFloor: RetentionFloor { RetentionFloor(upstream: answered + 1, own: .max) }

    var conditions: HostState.Conditions {
        .init(
            isLogFull: outlet.isFull, hasAnswers: hasFrames && state.held == nil, isStopping: control.isStopAsked)
    }
    var isIdle: Bool { unanswered.isEmpty || peer == nil }

    func fill(_ report: inout HostReport) {
        let waitsForProgram = peer == nil || callbacks.isDown() || hasComplained
        report.phase = upstream == nil ? .waitingForUpstream : waitsForProgram ? .waitingForProgram : .running
        report.taken = answered
        report.eventsIn = eventsIn
        report.mark = passedMark
        report.refusedFrames = refusedFrames + inlet.refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if let peer { _ = try plugin.send([peer, LinkFrame.close()], wait: false) }
        try inlet.close()
        try outlet.close()
    }

    func beginTurn(hasInput: Bool) {
        hasFrames = hasFrames || hasInput
        state.beginTurn(hasInput: hasInput, bytesMax: 1 << 20)
    }

    func perform(_ action: HostState.Action) throws {
        switch action {
        case .takeAnswers: try takeOutputs()
        case .takeHeld: try appendHeldAndSendNext()
        case .receive:
            if let arrival = try inlet.receive() { try handle(arrival) } else { state.noteNoInput() }
        case .commit: try passTimeOn()
        case .handOut, .wake: break
        }
    }

    func endTurn() throws {
        reportSilence()
        inlet.firstNeeded = retentionFloor.upstream
        try inlet.tick(at: .now)
    }

    /// Tells the operator, once for each silence, that the program has not opened its link or does not answer.
    private func reportSilence() {
        guard !callbacks.isDown(), peer == nil || !unanswered.isEmpty, state.held == nil else { return endSilence() }
        guard !hasComplained, .now - silentSince > PluginLoop.silenceMax else { return }
        hasComplained = true
        let fault =
            unanswered.first.flatMap { oldest in
                peer.map { _ in "answered events \(oldest.first) to \(oldest.last) of \(upstream?.name ?? "")" }
            } ?? "opened the link in BELFRY_LINK"
        StandardError.write(
            "\(plan.stage): the plugin's program has not \(fault) for \(PluginLoop.silenceMax); no event is passed on until it does"
        )
    }

    private func endSilence() { (silentSince, hasComplained) = (.now, false) }

    private func handle(_ arrival: LinkClient.Arrival) throws {
        switch arrival {
        case .welcome(let log, let identity, _):
            try UpstreamRecord(plan).checkOrRecord(log, identity, endpoint: inlet.endpoint, beside: outlet.log)
            try outlet.deadLetters.recover(upstream: log)
            upstream = (log, identity)
        case .batch(let first, let count, let now, let lines):
            unanswered.append(UnansweredBatch(first: first, count: count, now: now, lines: Array(lines)))
            state.noteTaken(through: first + UInt64(count) - 1)
            state.noteInput(bytes: lines.count)
            eventsIn += UInt64(count)
            if answered >= sendSinglyThrough { try sendLast() }
        case .time(let now, let mark): upstreamPromise = (now, mark)
        }
    }

    private func passTimeOn() throws {
        guard unanswered.isEmpty, let promise = upstreamPromise, plan.clock == .event else { return }
        outlet.server.promise(now: promise.now, mark: promise.mark)
        passedMark = promise.mark
    }

    // MARK: The program

    private func sendLast() throws {
        guard let peer, let batch = unanswered.last else { return }
        try send(batch, to: peer)
    }

    private func send(_ batch: UnansweredBatch, to peer: [UInt8]) throws {
        let frame = LinkFrame.batch(first: batch.first, count: batch.count, now: batch.now)
        if try plugin.send([peer, frame, batch.lines], wait: false) != .sent { self.peer = nil }
    }

    private func takeOutputs() throws {
        while wantsInput {
            switch try frames.next(from: plugin, { try refuse($0, $1, $2) }) {
            case .none:
                hasFrames = false
                return
            case .refused: continue
            case .frame(let control, let sender): try handle(control, from: sender)
            }
        }
    }

    private func handle(_ control: JSONValue, from sender: [UInt8]) throws {
        switch control.text(.type) {
        case "open": try open(control, sender)
        case "outputs": try outputs(control, sender)
        case let type:
            try refuse(sender, "link.type", "unknown frame type '\(type?.printable ?? "")'; known: open, outputs")
        }
    }

    private func refuse(_ peer: [UInt8], _ code: String, _ reason: String, isReported: Bool = true) throws {
        refusedFrames += 1
        if peer == self.peer { refusal = reason }
        _ = try plugin.send([peer, LinkFrame.error(code, reason)], wait: false)
        guard isReported, reportedMistakes.insert(code).inserted else { return }
        StandardError.write("\(plan.stage): the plugin's program was refused: \(reason) (\(code))")
    }

    private func open(_ control: JSONValue, _ sender: [UInt8]) throws {
        guard control.natural("protocol") == UInt64(LinkFrame.version) else {
            return try refuse(sender, "link.version", LinkFrame.wrongVersion(control, at: "link"))
        }
        peer = sender
        endSilence()
        if let end = callbacks.onOpen() { try noteCrash(end) }
        let log = outlet.log
        let welcome = LinkFrame.welcome(
            log: upstream?.name ?? "", identity: upstream?.identity ?? log.identity, last: state.taken, after: answered)
        _ = try plugin.send([sender, welcome], wait: false)
        try sendAgain()
    }

    /// Sends all unanswered batches again. While the program gets events one at a time, sends only the first of these
    /// batches.
    private func sendAgain() throws {
        guard state.held == nil else { return }
        for batch in answered < sendSinglyThrough ? unanswered.prefix(1) : unanswered[...] {
            if let peer { try send(batch, to: peer) }
        }
    }

    private func outputs(_ control: JSONValue, _ sender: [UInt8]) throws {
        guard sender == peer else {
            // Such outputs usually come from a program that has ended. The program that was started after it gets the
            // unanswered events again.
            return try refuse(
                sender, "link.outputs", "only the program that opened the link last may send outputs",
                isReported: false)
        }
        guard let through = control.natural("through"), let batch = unanswered.first, through == batch.last else {
            let oldest = unanswered.first.map { "\($0.last)" } ?? "none: all are answered"
            let found = control.natural("through").map { "\($0)" } ?? "none"
            return try refuse(
                sender, "link.outputs",
                "outputs need \"through\": the last sequence of the oldest batch not yet answered (\(oldest)); found: \(found)"
            )
        }
        let message = frames.message
        let lines = message.count > 2 ? message[2] : UnsafeRawBufferPointer(start: nil, count: 0)
        if let fault = LinkFrame.fault(ofOutputs: control, lines) { return try refuse(sender, "link.outputs", fault) }
        endSilence()
        refusal = nil
        programOutputs.pass(lines, answering: batch.first...batch.last, of: upstream?.name ?? "", into: &out)
        setAsideInARow = 0
        now = max(now, batch.now)
        state.hold(.outputs(through: through))
        try appendHeldAndSendNext()
    }

    /// Appends the held outputs, then sends the program the next event if it gets them one at a time.
    private func appendHeldAndSendNext() throws {
        let (before, wasSingle) = (answered, answered < sendSinglyThrough)
        try appendHeld()
        if wasSingle, answered > before { try sendAgain() }
    }

    /// Appends the held outputs. While the log has no room for them, the loop takes no more events or outputs.
    private func appendHeld() throws {
        guard case .outputs(let through, let isSetAside) = state.held, let batch = unanswered.first else { return }
        let name = upstream?.name ?? ""
        var cursor = Cursor([name: through])
        if isSetAside { cursor.setAside(through, of: name) }
        if try outlet.commit(&out, cursor: cursor, now: now, evenIfEmpty: true) == .noRoom { return }
        _ = state.takeHeld()
        unanswered.removeFirst()
        state.noteAppended(through: through)
        try inlet.grant(batch.lines.count)
    }

    // MARK: A program that ends again and again

    /// Called when a program has opened its link after an earlier program ended. If the earlier program crashed and had
    /// unanswered events, the new one gets these events one at a time, to find the event that programs crash on.
    private func noteCrash(_ end: ChildProcess.Exit) throws {
        guard end.isCrash, state.held == nil, let first = unanswered.first, let last = unanswered.last else { return }
        if first.count == 1, answered < sendSinglyThrough || unanswered.count == 1 {
            crashes = (first.first, crashes.sequence == first.first ? crashes.count + 1 : 1)
        }
        sendSinglyThrough = max(sendSinglyThrough, last.last)
        unanswered = unanswered.flatMap(\.events)
        guard crashes.sequence == first.first, crashes.count >= CrashJournal.crashesMax else { return }
        guard setAsideInARow < CrashJournal.setAsideMax else { return reportTooManyCrashes() }
        try setAside(after: end)
    }

    private func reportTooManyCrashes() {
        let before = "\(CrashJournal.setAsideMax) events in a row before it"
        StandardError.write(
            """
            \(plan.stage): its program ended \(crashes.count) times while it worked on event \(crashes.sequence) of \
            \(upstream?.name ?? ""), as with \(before), so no more events are set aside; fix the program
            """)
    }

    /// See ``ConsumerLoop/setAside(_:_:)``.
    private func setAside(after end: ChildProcess.Exit) throws {
        guard let event = unanswered.first, let upstream else { return }
        let reason =
            "the stage crashed three times on this event: its program ended each time while it worked on the event "
            + "(the last time it \(end.text))"
            + (refusal.map { "; earlier, the host refused what the program sent: \($0)" } ?? "")
        event.lines.withUnsafeBytes { lines in
            for line in Lines(lines) {
                out.reject(sequence: event.first, line: line, Rejection(code: SetAsideEvents.code, reason: reason))
            }
        }
        now = max(now, event.now)
        state.hold(.outputs(through: event.first, isSetAside: true))
        setAsideInARow += 1
        callbacks.onSetAside()
        try appendHeld()
        StandardError.write(
            "\(plan.stage): set event \(event.first) of \(upstream.name) aside: \(reason); see belfry dead-letters")
    }
}

extension ChildProcess.Exit {
    /// Whether an event may be the cause of the program's end. It is not the cause if the program exited with 0, if a
    /// signal asked the program to end, or if the program exited with 75 (sysexits: a temporary failure). A program
    /// exits with 75 for a reason of its own, such as an unreachable server.
    fileprivate var isCrash: Bool {
        wasSignalled ? ![SIGTERM, SIGINT, SIGHUP].contains(status) : status != 0 && status != 75
    }
}
