import EventLog
import JSON
import PipelineKit
import ZeroMQ

/// The work of a host whose stage is a program in another language.
///
/// The program connects a DEALER to the endpoint in `BELFRY_LINK`, sends `open`, gets `welcome` and `batch` frames as
/// any consumer does, and sends back `outputs` with the sequence they answer. The host appends them with that cursor,
/// so the program needs no log, and what it had not answered when it died is sent to it again.
final class PluginWork: HostWork {
    let outlet: StageOutlet
    private let plan: HostPlan
    private let inlet: any StageInlet
    private let plugin: ZMQSocket
    private let control: HostControl
    private var out = Outbox()
    /// With its line feed, an event must fit the log.
    private var events = EventReader(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax - 1))
    private var frames = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))
    private let message = ZMQMultipart()
    private var peer: [UInt8]?
    private var upstream: (name: String, identity: LogIdentity)?
    private var waiting: [Waiting] = []
    private var taken: UInt64
    private var answered: UInt64
    private var now: Instant
    private var promise: (now: Instant, mark: UInt64)?
    private var mark: UInt64 = 0
    private var eventsIn: UInt64 = 0
    private var refusedFrames = 0
    private var silentSince: ContinuousClock.Instant? = .now
    /// The last sequence that outputs answer for which the log had no room.
    private var unsaved: UInt64?
    /// Called whenever the program has opened its link.
    var onOpen: () -> Void = {}

    private static let patience = Duration.seconds(10)

    /// A batch that the program has not answered yet.
    private struct Waiting {
        var first: UInt64
        var count: Int
        var now: Instant
        var lines: [UInt8]
        var last: UInt64 { first + UInt64(count) - 1 }
    }

    init(_ plan: HostPlan, _ control: HostControl, outlet: StageOutlet, inlet: any StageInlet, plugin: ZMQSocket) {
        self.plan = plan
        self.control = control
        self.outlet = outlet
        self.inlet = inlet
        self.plugin = plugin
        now = outlet.log.lastNow
        taken = outlet.log.cursor.input?.position ?? 0
        answered = taken
    }

    var sockets: [any MessageSocket] { [inlet.socket, plugin] }
    var timeout: Duration { inlet.patience }
    func trimmed(to first: UInt64) {}
    var wantsInput: Bool { unsaved == nil }
    /// What the program has not answered is sent to it again; it has no other past.
    var need: StageNeed { StageNeed(upstream: answered + 1, own: .max) }
    var isIdle: Bool { waiting.isEmpty || peer == nil }

    func fill(_ report: inout HostReport) {
        report.phase = upstream == nil || peer == nil ? .waitingForUpstream : .running
        report.taken = answered
        report.eventsIn = eventsIn
        report.mark = mark
        report.refusedFrames = refusedFrames + inlet.refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if let peer { _ = try plugin.send([peer, LinkFrame.close()], wait: false) }
        try inlet.close()
        try outlet.close()
    }

    func turn(hasInput: Bool) throws -> Bool {
        if unsaved != nil { try save() }
        if hasInput { try takeOutputs() }
        complainOfSilence()
        var bytes = 0
        while hasInput, wantsInput, !control.isStopAsked, bytes < 1 << 20, let arrival = try inlet.receive() {
            bytes += try take(arrival)
        }
        try keepPromise()
        inlet.keep = need.upstream
        try inlet.tick(at: .now)
        return bytes >= 1 << 20
    }

    /// Says once that the program has not opened its link.
    private func complainOfSilence() {
        guard peer == nil, let started = silentSince, .now - started > PluginWork.patience else { return }
        silentSince = nil
        let wait = "for \(PluginWork.patience); nothing passes until it does"
        StandardError.write("\(plan.stage): the plugin's program has not opened the link in BELFRY_LINK \(wait)")
    }

    private func take(_ arrival: LinkClient.Arrival) throws -> Int {
        switch arrival {
        case .welcome(let log, let identity, _):
            try UpstreamRecord(plan).check(log, identity, endpoint: inlet.endpoint)
            try outlet.recoverDeadLetters(upstream: log)
            upstream = (log, identity)
            return 0
        case .batch(let first, let count, let now, let lines):
            waiting.append(Waiting(first: first, count: count, now: now, lines: Array(lines)))
            taken = first + UInt64(count) - 1
            eventsIn += UInt64(count)
            try sendLast()
            return lines.count
        case .time(let now, let mark):
            promise = (now, mark)
            return 1
        }
    }

    private func keepPromise() throws {
        guard waiting.isEmpty, let promise, plan.clock == .event else { return }
        outlet.server.promise(now: promise.now, mark: promise.mark)
        mark = promise.mark
    }

    // MARK: The program

    private func sendLast() throws {
        guard let peer, let batch = waiting.last else { return }
        try send(batch, to: peer)
    }

    private func send(_ batch: Waiting, to peer: [UInt8]) throws {
        let frame = LinkFrame.batch(first: batch.first, count: batch.count, now: batch.now)
        if try plugin.send([peer, frame, batch.lines], wait: false) != .sent { self.peer = nil }
    }

    private func takeOutputs() throws {
        while wantsInput {
            switch try plugin.receive(into: message, wait: false) {
            case .empty: return
            case .tooManyFrames(let count):
                try refuse(
                    message.bytes(at: 0), "link.frames", "a message of \(count - 1) frames; outputs have two, open one")
            case .received: try takeOutput()
            }
        }
    }

    private func takeOutput() throws {
        guard message.count >= 2 else {
            refusedFrames += 1
            return
        }
        let sender = message.bytes(at: 0)
        let control: JSONValue
        do throws(JSONError) { control = try frames.parse(message[1]) } catch {
            return try refuse(sender, "link.frame", "the control frame is not JSON: \(error)")
        }
        switch control.text("type") {
        case "open": try open(control, sender)
        case "outputs": try outputs(control, sender)
        case let type: try refuse(sender, "link.type", "unknown frame type '\(type ?? "")': open, outputs")
        }
    }

    private func refuse(_ peer: [UInt8], _ code: String, _ reason: String) throws {
        refusedFrames += 1
        _ = try plugin.send([peer, LinkFrame.error(code, reason)], wait: false)
    }

    private func open(_ control: JSONValue, _ sender: [UInt8]) throws {
        guard control.natural("protocol") == UInt64(LinkFrame.version) else {
            return try refuse(sender, "link.version", "this link speaks protocol \(LinkFrame.version)")
        }
        peer = sender
        onOpen()
        let log = outlet.log
        let welcome = LinkFrame.welcome(
            log: upstream?.name ?? "", identity: upstream?.identity ?? log.identity, last: taken, after: answered)
        _ = try plugin.send([sender, welcome], wait: false)
        for batch in waiting { try send(batch, to: sender) }
    }

    private func outputs(_ control: JSONValue, _ sender: [UInt8]) throws {
        guard sender == peer, let through = control.natural("through"), let batch = waiting.first, through == batch.last
        else {
            return try refuse(
                sender, "link.outputs",
                "outputs need \"through\": the last sequence of the oldest batch not yet answered")
        }
        if message.count > 2 { admit(message[2], through) }
        now = max(now, batch.now)
        unsaved = through
        try save()
    }

    /// Appends the outputs in hand. While there is no room for them, nothing more is taken from either side.
    private func save() throws {
        guard let through = unsaved, let batch = waiting.first else { return }
        let cursor = Cursor([upstream?.name ?? "": through])
        if try outlet.commit(&out, cursor: cursor, now: now, always: true) == .noRoom { return }
        unsaved = nil
        waiting.removeFirst()
        answered = through
        try inlet.grant(batch.lines.count)
    }

    private func admit(_ lines: UnsafeRawBufferPointer, _ through: UInt64) {
        for line in Lines(lines) {
            if let event = events.read(line, sequence: through, into: &out) { out.pass(event) }
        }
    }
}
