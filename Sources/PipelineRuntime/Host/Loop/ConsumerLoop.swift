import JSON
import PipelineKit
import Time

/// The loop of a stage that reads another stage's log.
final class ConsumerLoop<S: Stage>: HostWork {
    var state = HostState()
    let outlet: StageOutlet
    let plan: HostPlan
    let control: HostControl
    let inlet: any StageInlet
    var timeline: SettingsTimeline<S>
    var periods: SettingsPeriods<S>?
    let transports: TransportDispatcher
    var clock: StageClock<S>?
    /// Feeds the stage its recorded input. Until the rebuild has ended, ``clock`` is nil.
    var rebuild: StageRebuild<S>?
    var out = Outbox()
    private var events = EventReader(limits: EventReader.linkLimits)
    var upstreamName = ""
    var ungranted = 0
    private var eventsIn: UInt64 = 0
    /// The greatest mark that came from the upstream. See ``Producer/moveTime(to:mark:)``.
    var mark: UInt64 = 0
    /// The greatest mark that was passed on to the stage's consumers.
    var passedMark: UInt64 = 0
    /// In virtual time, the time that the upstream has reached: no earlier event will come. Nil before the first `time`
    /// frame.
    var promised: Instant?
    var start: RestoredStage<S>?
    var context: StageContext?
    let snapshots: SnapshotSearch<S>?
    var keeper: SnapshotKeeper?
    /// Records which pushes are possibly at a transport. Nil before ``begin(_:_:_:)``, and in a stage without open
    /// transports.
    var inFlightJournal: InFlightJournal?
    /// Notes the events that the stage is processing, so that the process after a crash knows them. Nil if no event can
    /// be set aside.
    var crashJournal: CrashJournal?
    /// Whether the journal notes each event on its own.
    var notesEachEvent = false

    /// After this many bytes of input, the turn takes no more input. The number is smaller while pushes are in flight,
    /// so that their answers do not wait long.
    private var turnBytesMax: Int { transports.isResting ? 1 << 20 : 1 << 17 }

    init(
        _ plan: HostPlan, _ control: HostControl, timeline: SettingsTimeline<S>, outlet: StageOutlet,
        inlet: any StageInlet, transports: TransportDispatcher, start: RestoredStage<S>? = nil,
        snapshots: SnapshotSearch<S>? = nil
    ) {
        self.plan = plan
        self.control = control
        self.timeline = timeline
        self.outlet = outlet
        self.inlet = inlet
        self.transports = transports
        self.start = start
        self.snapshots = snapshots
        out.fullPartBytes = plan.surroundings.partBytes
    }

    var sockets: [any MessageSocket] { [inlet.socket] }

    var timeout: Duration {
        guard plan.clock == .wall, state.mayWake(conditions), let deadline = clock?.stage.deadline else {
            return inlet.pollTimeout
        }
        return min(inlet.pollTimeout, max(.zero, deadline - logNow))
    }

    var isIdle: Bool { transports.isResting && (state.step == nil || outlet.isFull) }

    var conditions: HostState.Conditions {
        .init(
            isLogFull: outlet.isFull, haveTransportsRoom: haveTransportsRoom, hasAnswers: transports.hasAnswers,
            isStopping: control.isStopAsked, mayBeReplaced: outlet.mayBeReplaced)
    }

    /// Whether the transports accept more pushes; in virtual time, whether all pushes are answered.
    var haveTransportsRoom: Bool { plan.clock == .event ? transports.isIdle : transports.hasRoom }

    var retentionFloor: RetentionFloor { keeper.map { RetentionFloor($0.oldestNeeded) } ?? .everything }

    func fill(_ report: inout HostReport) {
        report.phase = state.phase
        report.taken = state.taken
        report.eventsIn = eventsIn
        report.mark = passedMark
        report.refusedFrames = inlet.refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if try commit(evenIfEmpty: state.taken > state.committed) {
            try noteAtRest()
            if isSettled, let clock, let moment {
                keeper?.finish(clock.stage, moment, after: outlet.flushing)
            }
        }
        keeper?.dropAndWait()
        try inlet.close()
        try outlet.close()
    }

    func beginTurn(hasInput: Bool) {
        // Virtual time must not move on while a push is unanswered.
        state.beginTurn(hasInput: hasInput, bytesMax: turnBytesMax, settlesEachInput: plan.clock == .event)
    }

    func perform(_ action: HostState.Action) throws {
        defer { crashJournal?.clear() }
        switch action {
        case .takeAnswers: try takeAnswers()
        case .handOut: try dispatch()
        case .takeHeld: try takeHeld()
        case .receive:
            if let arrival = try nextArrival() { try handle(arrival) } else { state.noteNoInput() }
        case .wake: try wakeWhenDue()
        case .commit: try commitTurn()
        }
    }

    func endTurn() throws {
        inlet.firstNeeded = retentionFloor.upstream
        try inlet.tick(at: plan.time.monotonicNow())
    }

    /// Continues with held input, once earlier outputs are appended.
    private func takeHeld() throws {
        guard try commit() else { return }
        switch state.takeHeld() {
        case .lines(let lines, let first, let now):
            try lines.withUnsafeBytes { try fold($0, first: first, count: Lines.count($0), at: now) }
            state.noteInput(bytes: lines.count)
        case .time(let now, let mark, _): try moveTime(to: now, mark)
        case .outputs, nil: break
        }
    }

    private func handle(_ arrival: LinkClient.Arrival) throws {
        switch arrival {
        case .welcome(let log, let identity, let last): try begin(log, identity, last)
        case .batch(let first, let count, let now, let lines):
            try fold(lines, first: first, count: UInt64(count), at: now)
            state.noteInput(bytes: lines.count)
        case .time(let now, let mark): try moveTime(to: now, mark)
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
        notesEachEvent = crashJournal?.notesEachEvent(from: first) ?? false
        if !notesEachEvent, count > 0 { crashJournal?.note(first...(first + count - 1)) }
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
        state.noteTaken(through: state.step?.event.map { $0 - 1 } ?? sequence - 1)
        eventsIn += sequence - first
        ungranted += end
        keeper?.noteInput(end)
    }

    /// How many events the loop takes before it looks for answers. Answers go first, because each answer lets a
    /// transport send the next push.
    private static var eventsBetweenLooks: UInt64 { 32 }

    /// Whether the outputs fill a batch. They can do so in the middle of the input, because one push may go to a
    /// thousand devices.
    private var isFull: Bool {
        max(out.lines.count, out.deliveryBytes) >= outlet.batchBytesFull
            || out.deliveries.count >= Self.batchPushesFull
    }

    private static var batchPushesFull: Int { 4_096 }

    /// - Returns: False if the event must wait.
    @inline(__always)
    private func fold(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws -> Bool {
        if !state.hasCaughtUp {
            if try feedRebuild(line, sequence, at: now) { return true }
            guard try catchUp(before: sequence) else { return false }
        }
        if notesEachEvent, isToBeSetAside(sequence) { return try setAside(line, sequence) }
        if clock?.comesDue(at: now) == true {
            state.noteTaken(through: sequence - 1)
            guard try wakeStage(through: now) else { return false }
        }
        let before = out.count
        if notesEachEvent { crashJournal?.note(sequence...sequence) }
        if line.isEmpty, plan.linkLane != nil {
            clock?.passOver(at: now, into: &out)
        } else if let event = events.read(line, sequence: sequence, into: &out) {
            clock?.begin(event, at: now, into: &out)
        }
        noteStep(.event, of: sequence, outputsBefore: before)
        answerFromSink()
        if notesEachEvent { crashJournal?.clear() }
        return true
    }

    /// - Returns: False if this event or the following events must wait.
    private func finishEvent(_ sequence: UInt64) throws -> Bool {
        state.noteTaken(through: sequence - 1)
        guard try finishStep() else { return false }
        return try state.hasCaughtUp || commitFullBatch(through: sequence)
    }

    // MARK: Time

    /// The log's time now, for a stage on the machine's clock.
    var logNow: Instant { outlet.now(from: clock?.now ?? .epoch) }

    /// Moves virtual time forward. The outputs of each wake on the way are a batch with the time of the wake.
    ///
    /// Does nothing during a rebuild, which takes the times from the stage's own log.
    ///
    /// - Returns: False if the log has no room, a step must wait, or a push is not answered. Then the remaining wakes
    ///   come later.
    private func advance(to time: Instant) throws -> Bool {
        guard state.pastEnd == nil else { return true }
        guard try finishStep() else { return false }
        while let deadline = clock?.stage.deadline, deadline <= time {
            guard try commitSettled(), try wakeStage(through: deadline), try commitSettled() else { return false }
            try checkEnd(at: time)
        }
        if let now = clock?.now, time > now {
            guard try commitSettled() else { return false }
            clock?.advance(to: time, into: &out)
        }
        return true
    }

    /// In virtual time: commits, hands out the pushes, and returns whether all pushes are answered. Time moves forward
    /// only when they are.
    private func commitSettled() throws -> Bool {
        guard try commit() else { return false }
        try dispatch()
        return transports.isIdle
    }

    private func moveTime(to now: Instant, _ mark: UInt64) throws {
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
        if plan.clock == .wall { try wakeStageAndCommit(through: logNow) }
    }

    /// Wakes the stage for each deadline up to a time and commits the outputs; false if a step or a batch must wait.
    @discardableResult
    func wakeStageAndCommit(through time: Instant) throws -> Bool {
        guard clock?.isDue(at: time) == true else { return true }
        guard try commit() else { return false }
        state.requireRecord()
        guard try wakeStage(through: time) else { return false }
        return try commit()
    }

    // MARK: Snapshots

    /// Whether the outputs of all events that the stage took are in its log, and no step is unfinished.
    var isSettled: Bool {
        out.isEmpty && state.isSettled(conditions)
    }

    var moment: SnapshotMoment? {
        clock.map { SnapshotMoment(position: state.taken, sequence: outlet.log.lastSequence, now: $0.now) }
    }

    func takeSnapshotIfDue() {
        guard keeper?.checkDue() == true, isSettled, let clock, let context, let moment else { return }
        outlet.pauses.lap(.input)
        defer { outlet.pauses.lap(.snapshot) }
        keeper?.takeSnapshot(
            of: clock.stage, moment, beside: SnapshotMaker(plan, timeline, context), after: outlet.flushing)
    }

    func willRemoveEvents(before first: UInt64) { keeper?.remove { $0.firstRead < first } }
}
