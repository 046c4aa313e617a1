import JSON
import PipelineKit
import Time

/// The work of a host whose stage reads another stage's log.
final class ConsumerLoop<S: Stage>: HostWork {
    var state = HostState()
    let outlet: StageOutlet
    let plan: HostPlan
    let control: HostControl
    let inlet: any StageInlet
    var past: SettingsTimeline<S>
    var epochs: SettingsPeriods<S>?
    let transports: TransportDispatcher
    var clock: StageClock<S>?
    /// Feeds the stage its past; ``clock`` is nil until that is over.
    var rebuild: StageRebuild<S>?
    var out = Outbox()
    private var events = EventReader(limits: EventReader.linkLimits)
    var upstreamName = ""
    var ungranted = 0
    private var eventsIn: UInt64 = 0
    var mark: UInt64 = 0
    var passedMark: UInt64 = 0
    var promised: Instant?
    var start: RestoredStage<S>?
    var context: StageContext?
    let snapshots: SnapshotSearch<S>?
    var keeper: SnapshotKeeper?
    /// Which pushes transports may have; nil for a stage that has no transports.
    var inFlightJournal: InFlightJournal?
    /// What the stage is at work on, for whoever starts after a crash; nil where nobody would know what crashed.
    var journal: CrashJournal?
    /// Whether each event is noted in the journal by itself.
    var isCareful = false

    /// Input that one turn takes at most before it commits. Where pushes are on their way, answers are not to wait long.
    private var turnBytesMax: Int { transports.isResting ? 1 << 20 : 1 << 17 }

    init(
        _ plan: HostPlan, _ control: HostControl, past: SettingsTimeline<S>, outlet: StageOutlet,
        inlet: any StageInlet, transports: TransportDispatcher, start: RestoredStage<S>? = nil,
        snapshots: SnapshotSearch<S>? = nil
    ) {
        self.plan = plan
        self.control = control
        self.past = past
        self.outlet = outlet
        self.inlet = inlet
        self.transports = transports
        self.start = start
        self.snapshots = snapshots
        out.partBytesMax = plan.partBytes
    }

    var sockets: [any MessageSocket] { [inlet.socket] }

    var timeout: Duration {
        guard plan.clock == .wall, state.mayWake(conditions), let deadline = clock?.stage.deadline else {
            return inlet.patience
        }
        return min(inlet.patience, max(.zero, deadline - logNow))
    }

    var isIdle: Bool { transports.isResting && (state.step == nil || outlet.isShort) }

    var conditions: HostState.Conditions {
        .init(
            isLogFull: outlet.isShort, haveTransportsRoom: haveTransportsRoom, hasAnswers: transports.hasAnswers,
            isStopping: control.isStopAsked)
    }

    /// In virtual time only when all that was handed out is answered.
    var haveTransportsRoom: Bool { plan.clock == .event ? transports.isIdle : transports.hasRoom }

    /// What of its logs the stage needs to start again.
    var need: RetentionFloor { keeper.map { RetentionFloor($0.need) } ?? .everything }

    func fill(_ report: inout HostReport) {
        report.phase = state.phase
        report.taken = state.taken
        report.eventsIn = eventsIn
        report.mark = passedMark
        report.refusedFrames = inlet.refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if try commit(always: state.taken > state.committed) {
            try rest()
            if isSettled, let clock, let moment {
                keeper?.finish(clock.stage, moment, after: outlet.flushingDeadLetters)
            }
        }
        keeper?.wait()
        try inlet.close()
        try outlet.close()
    }

    func beginTurn(hasInput: Bool) {
        // Virtual time may not run ahead of what is still to be answered.
        state.beginTurn(hasInput: hasInput, bytesMax: turnBytesMax, settlesEachInput: plan.clock == .event)
    }

    func perform(_ action: HostState.Action) throws {
        defer { journal?.clear() }
        switch action {
        case .takeAnswers: try takeAnswers()
        case .handOut: try dispatch()
        case .goOn: try takeHeld()
        case .receive:
            if let arrival = try nextArrival() { try take(arrival) } else { state.noteNoInput() }
        case .wake: try wakeWhenDue()
        case .commit: try commitTurn()
        }
    }

    func endTurn() throws {
        inlet.keep = need.upstream
        try inlet.tick(at: plan.time.steady())
    }

    /// Goes on with what had to wait, once what it gave so far is appended.
    private func takeHeld() throws {
        guard try commit() else { return }
        switch state.takeHeld() {
        case .lines(let lines, let first, let now):
            try lines.withUnsafeBytes { try fold($0, first: first, count: Lines.count($0), at: now) }
            state.noteInput(bytes: lines.count)
        case .time(let now, let mark, _): try keep(now, mark)
        case .outputs, nil: break
        }
    }

    private func take(_ arrival: LinkClient.Arrival) throws {
        switch arrival {
        case .welcome(let log, let identity, let last): try begin(log, identity, last)
        case .batch(let first, let count, let now, let lines):
            try fold(lines, first: first, count: UInt64(count), at: now)
            state.noteInput(bytes: lines.count)
        case .time(let now, let mark): try keep(now, mark)
        }
    }

    private func nextArrival() throws -> LinkClient.Arrival? {
        do { return try inlet.receive() } catch let error as LinkError {
            guard case .refused(_, "link.after", let reason) = error, let start else { throw error }
            try fallBack(from: start, because: reason)
            return nil
        }
    }

    // MARK: Folding

    private func fold(_ lines: UnsafeRawBufferPointer, first: UInt64, count: UInt64, at now: Instant) throws {
        isCareful = journal?.isCareful(from: first) ?? false
        if !isCareful, count > 0 { journal?.note(first...(first + count - 1)) }
        if plan.clock == .event {
            guard try advance(to: now) else {
                state.hold(.lines(Array(lines), first: first, now: now))
                return
            }
        }
        var (sequence, end) = (first, 0)
        for line in Lines(lines) {
            guard try fold(line, sequence, at: now) else { break }
            sequence += 1
            end += line.count + 1
            if state.step != nil, try !finishEvent(sequence - 1) { break }
            if isFull, try !commitFullBatch(through: sequence - 1) { break }
            if (sequence - first) % Self.eventsBetweenLooks == 0, plan.clock == .wall,
                state.mayTakeAnswers(conditions)
            {
                break
            }
        }
        if end < lines.count { state.hold(.lines(Array(lines[end...]), first: sequence, now: now)) }
        state.take(through: state.step?.event.map { $0 - 1 } ?? sequence - 1)
        eventsIn += sequence - first
        ungranted += end
        keeper?.noteInput(end)
    }

    /// So often an answer that has come is looked for: it goes before more input, for its stream stands idle.
    private static var eventsBetweenLooks: UInt64 { 32 }

    /// Whether a batch has come together before the input's end: a user may have a thousand devices.
    private var isFull: Bool {
        max(out.lines.count, out.deliveryBytes) >= StageOutlet.batchBytesFull
            || out.deliveries.count >= Self.batchPushesMax
    }

    private static var batchPushesMax: Int { 4_096 }

    /// - Returns: Whether the event was taken; else something before it has to wait.
    @inline(__always)
    private func fold(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws -> Bool {
        if !state.hasCaughtUp {
            if try recall(line, sequence, at: now) { return true }
            guard try catchUp(before: sequence) else { return false }
        }
        if isCareful, isToBeSetAside(sequence) { return try setAside(line, sequence) }
        if clock?.comesDue(at: now) == true {
            state.take(through: sequence - 1)
            guard try serveDeadlines(through: now) else { return false }
        }
        let before = out.count
        if isCareful { journal?.note(sequence...sequence) }
        if let event = events.read(line, sequence: sequence, into: &out) { clock?.begin(event, at: now, into: &out) }
        noteStep(.event, of: sequence, outputsBefore: before)
        pour()
        if isCareful { journal?.clear() }
        return true
    }

    /// - Returns: False where the event just taken, or what follows it, has to wait.
    private func finishEvent(_ sequence: UInt64) throws -> Bool {
        state.take(through: sequence - 1)
        guard try finishStep() else { return false }
        return try state.hasCaughtUp || commitFullBatch(through: sequence)
    }

    // MARK: Time

    /// What time it is, where the stage goes by the machine's clock.
    var logNow: Instant { outlet.now(from: clock?.now ?? .epoch) }

    /// Moves virtual time on; each deadline on the way becomes a batch of its own time. A rebuild moves time by the stage's
    /// own log instead, which says under which settings each deadline was served.
    ///
    /// - Returns: False where the log has no room for what is due on the way: then it is for later.
    private func advance(to time: Instant) throws -> Bool {
        guard state.pastEnd == nil else { return true }
        guard try finishStep() else { return false }
        while let deadline = clock?.stage.deadline, deadline <= time {
            guard try commitSettled(), try serveDeadlines(through: deadline), try commitSettled() else { return false }
            try checkEnd(at: time)
        }
        if let now = clock?.now, time > now {
            guard try commitSettled() else { return false }
            clock?.advance(to: time, into: &out)
        }
        return true
    }

    /// In virtual time, all that was handed out is answered before time goes on.
    private func commitSettled() throws -> Bool {
        guard try commit() else { return false }
        try dispatch()
        return transports.isIdle
    }

    private func keep(_ now: Instant, _ mark: UInt64) throws {
        try finishRebuild()
        guard plan.clock == .event else { return }
        guard try advance(to: now) else {
            state.hold(.time(now, mark: mark))
            return
        }
        promised = now
        self.mark = max(self.mark, mark)
    }

    private func wakeWhenDue() throws {
        if plan.clock == .wall { try serve(through: logNow) }
    }

    /// Serves every deadline up to a time, and puts on record what came of it.
    ///
    /// - Returns: False where something has to wait.
    @discardableResult
    func serve(through time: Instant) throws -> Bool {
        guard clock?.isDue(at: time) == true else { return true }
        guard try commit() else { return false }
        state.requireRecord()
        guard try serveDeadlines(through: time) else { return false }
        return try commit()
    }
}
