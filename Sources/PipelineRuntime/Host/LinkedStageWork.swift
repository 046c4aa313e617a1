import EventLog
import JSON
import PipelineKit

/// The work of a host whose stage reads another stage's log.
final class LinkedStageWork<S: Stage>: HostWork {
    let outlet: StageOutlet
    private let plan: HostPlan
    private let control: HostControl
    private let inlet: any StageInlet
    private let settings: S.Settings
    private let transports: TransportCrew
    private var clock: StageClock<S>?
    private var rebuild: Rebuild?
    private var out = Outbox()
    private var events = EventReader(limits: JSONLimits(depthMax: JSONLimits().depthMax + 8))
    private var upstreamName = ""
    private var taken: UInt64 = 0
    private var committed: UInt64 = 0
    private var ungranted = 0
    private var eventsIn: UInt64 = 0
    private var mark: UInt64 = 0
    private var passedMark: UInt64 = 0
    private var promised: Instant?

    /// Input that one turn takes at most before it commits.
    private static var turnBytesMax: Int { 1 << 20 }

    init(
        _ plan: HostPlan, _ control: HostControl, settings: S.Settings, outlet: StageOutlet,
        inlet: any StageInlet, transports: TransportCrew
    ) {
        self.plan = plan
        self.control = control
        self.settings = settings
        self.outlet = outlet
        self.inlet = inlet
        self.transports = transports
    }

    var sockets: [any MessageSocket] { [inlet.socket] }

    var timeout: Duration {
        guard plan.clock == .wall, mayWake, let deadline = clock?.stage.deadline else { return inlet.patience }
        return min(inlet.patience, max(.zero, deadline - plan.time.wall()))
    }

    var isIdle: Bool { transports.isIdle }
    var wantsInput: Bool { transports.isIdle && !control.isStopAsked }

    func fill(_ report: inout HostReport) {
        report.phase = clock == nil ? .waitingForUpstream : rebuild == nil ? .running : .rebuilding
        report.taken = taken
        report.eventsIn = eventsIn
        report.mark = passedMark
        report.refusedFrames = inlet.refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if transports.isIdle { try commit(always: taken > committed) }
        try inlet.close()
        try outlet.close()
    }

    func turn(hasInput: Bool) throws -> Bool {
        try takeAnswers()
        var bytes = 0
        while hasInput, wantsInput, bytes < Self.turnBytesMax, let arrival = try inlet.receive() {
            bytes += try take(arrival)
            // Virtual time may not run ahead of what is still to be answered.
            if plan.clock == .event { try endTurn() }
        }
        try wakeWhenDue()
        try endTurn()
        try inlet.tick(at: plan.time.steady())
        return bytes >= Self.turnBytesMax || transports.hasAnswers
    }

    private func take(_ arrival: LinkClient.Arrival) throws -> Int {
        switch arrival {
        case .welcome(let log, let identity, let last):
            try begin(log, identity, last)
            return 0
        case .batch(let first, let count, let now, let lines):
            try fold(lines, first: first, count: count, at: now)
            return lines.count
        case .time(let now, let mark):
            try keep(now, mark)
            return 1
        }
    }

    // MARK: Starting

    private func begin(_ log: String, _ identity: LogIdentity, _ last: UInt64) throws {
        try UpstreamRecord(plan).check(log, identity, endpoint: inlet.endpoint)
        guard clock == nil else { return }
        upstreamName = log
        let cursor = outlet.log.cursor.positions[log] ?? 0
        guard cursor <= last else {
            throw LinkError.upstreamLost(endpoint: inlet.endpoint, log: log, taken: cursor, holds: last)
        }
        try outlet.recoverDeadLetters(upstream: log)
        let context = StageContext(log: outlet.log.identity, upstream: identity, upstreamName: log)
        clock = StageClock(try S(settings, context: context))
        committed = cursor
        if cursor > 0 { rebuild = try Rebuild(plan, upstream: log, through: cursor) }
    }

    // MARK: Folding

    private func fold(_ lines: UnsafeRawBufferPointer, first: UInt64, count: Int, at now: Instant) throws {
        if plan.clock == .event { try advance(to: now) }
        var sequence = first
        for line in Lines(lines) {
            try fold(line, sequence, at: now)
            if out.lines.count >= StageOutlet.batchBytesFull { try commitFullBatch(through: sequence) }
            sequence += 1
        }
        taken = sequence - 1
        eventsIn += UInt64(count)
        ungranted += lines.count
    }

    @inline(__always)
    private func fold(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws {
        if rebuild != nil { try rebuildStep(before: sequence) }
        events.read(line, sequence: sequence, into: &out) { event, out in
            clock?.receive(event, at: now, into: &out)
        }
    }

    private func rebuildStep(before sequence: UInt64) throws {
        guard var rebuild else { return }
        let isOver = sequence > rebuild.through
        while let now = try rebuild.nextWake(before: isOver ? UInt64.max : sequence) {
            clock?.advance(to: now, into: &out)
        }
        self.rebuild = isOver ? nil : rebuild
        forgetOutputs()
        if isOver { committed = rebuild.through }
    }

    /// What a stage says of its past is in its log already; its pushes were answered then.
    private func forgetOutputs() {
        for delivery in out.takeDeliveries() {
            guard let now = clock?.now else { break }
            clock?.receive(TransportAnswer(delivery.id, .accepted), at: now, into: &out)
        }
        out.discard()
    }

    // MARK: Time

    /// Moves virtual time on; each deadline on the way becomes a batch of its own time.
    private func advance(to time: Instant) throws {
        while let deadline = clock?.stage.deadline, deadline <= time {
            try commit()
            clock?.serveDeadlines(through: deadline, into: &out)
            try commit()
        }
        if let now = clock?.now, time > now {
            try commit()
            clock?.advance(to: time, into: &out)
        }
    }

    private func keep(_ now: Instant, _ mark: UInt64) throws {
        try finishRebuild()
        guard plan.clock == .event else { return }
        try advance(to: now)
        promised = now
        self.mark = max(self.mark, mark)
    }

    /// Whether a deadline that passes now is served now: not while the past is fed again, nor before a window is answered.
    private var mayWake: Bool { rebuild == nil && transports.isIdle }

    private func wakeWhenDue() throws {
        try finishRebuild()
        guard plan.clock == .wall, mayWake, let deadline = clock?.stage.deadline, deadline <= plan.time.wall() else {
            return
        }
        try commit()
        clock?.serveDeadlines(through: plan.time.wall(), into: &out)
        try commit(always: true)
    }

    /// The history is over when all that the log has answered has been fed again.
    private func finishRebuild() throws {
        if let rebuild, taken >= rebuild.through { try rebuildStep(before: UInt64.max) }
    }

    // MARK: Committing

    private func endTurn() throws {
        try finishRebuild()
        guard rebuild == nil else {
            forgetOutputs()
            return try grant()
        }
        try commit()
        guard transports.isIdle, plan.clock == .event, let promised else { return }
        outlet.server.promise(now: promised, mark: mark)
        passedMark = mark
    }

    private func commit(always: Bool = false) throws {
        guard let now = clock?.now, rebuild == nil else { return try grant() }
        let deliveries = out.takeDeliveries()
        guard deliveries.isEmpty, transports.isIdle else { return transports.deliver(deliveries) }
        let isBehind = taken - committed >= 65_536
        let cursor = Cursor([upstreamName: taken])
        let time = max(now, outlet.log.lastNow)
        if try outlet.commit(&out, cursor: cursor, now: time, always: always || isBehind) != nil { committed = taken }
        try grant()
    }

    /// In the middle of a batch of the upstream's: one change may have matched thousands of subscriptions.
    private func commitFullBatch(through sequence: UInt64) throws {
        guard rebuild == nil else { return forgetOutputs() }
        taken = sequence
        try commit()
    }

    private func grant() throws {
        guard ungranted > 0 else { return }
        try inlet.grant(ungranted)
        ungranted = 0
    }

    /// A window of pushes is answered as a whole: then its outcomes and its cursor become one batch.
    private func takeAnswers() throws {
        guard let answers = transports.takeAnswers(), let now = clock?.now else { return }
        let time = plan.clock == .wall ? max(now, plan.time.wall()) : now
        for answer in answers { clock?.receive(answer, at: time, into: &out) }
        try commit()
    }
}
