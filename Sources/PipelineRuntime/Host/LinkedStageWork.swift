import EventLog
import JSON
import PipelineKit

/// The work of a host whose stage reads another stage's log.
final class LinkedStageWork<S: Stage>: HostWork {
    let outlet: StageOutlet
    private let plan: HostPlan
    private let control: HostControl
    private let inlet: any StageInlet
    private var past: SettingsPast<S>
    private var epochs: SettingsEpochs<S>?
    private let transports: TransportCrew
    private var clock: StageClock<S>?
    private var rebuild: Rebuild?
    private var out = Outbox()
    private var events = EventReader(limits: EventReader.linkLimits)
    private var upstreamName = ""
    private var taken: UInt64 = 0
    private var committed: UInt64 = 0
    private var ungranted = 0
    private var eventsIn: UInt64 = 0
    private var mark: UInt64 = 0
    private var passedMark: UInt64 = 0
    private var promised: Instant?
    private var start: RestoredStage<S>?
    private var context: StageContext?
    private let snapshots: SnapshotSearch<S>?
    private var keeper: SnapshotKeeper?
    /// Input that waits for room in the log.
    private var held: HeldInput?
    /// Whether the next batch must be appended even if it holds no event: the stage was woken, and that is to be known.
    private var mustRecord = false

    private enum HeldInput {
        case lines([UInt8], first: UInt64, now: Instant)
        case time(Instant, mark: UInt64)
    }

    /// Input that one turn takes at most before it commits.
    private static var turnBytesMax: Int { 1 << 20 }

    init(
        _ plan: HostPlan, _ control: HostControl, past: SettingsPast<S>, outlet: StageOutlet,
        inlet: any StageInlet, transports: TransportCrew, start: RestoredStage<S>? = nil,
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
    }

    var sockets: [any MessageSocket] { [inlet.socket] }

    var timeout: Duration {
        guard plan.clock == .wall, mayWake, let deadline = clock?.stage.deadline else { return inlet.patience }
        return min(inlet.patience, max(.zero, deadline - plan.time.wall()))
    }

    var isIdle: Bool { transports.isIdle }
    var wantsInput: Bool { transports.isIdle && !control.isStopAsked && !outlet.isShort && held == nil }
    /// What of its logs the stage needs to start again.
    var need: StageNeed { keeper.map { StageNeed($0.need) } ?? .everything }

    func fill(_ report: inout HostReport) {
        report.phase = clock == nil ? .waitingForUpstream : rebuild == nil ? .running : .rebuilding
        report.taken = taken
        report.eventsIn = eventsIn
        report.mark = passedMark
        report.refusedFrames = inlet.refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if transports.isIdle, try commit(always: taken > committed), isSettled, let clock, let moment {
            keeper?.finish(clock.stage, moment)
        }
        keeper?.wait()
        try inlet.close()
        try outlet.close()
    }

    func turn(hasInput: Bool) throws -> Bool {
        try takeAnswers()
        var bytes = try takeHeld()
        while hasInput, wantsInput, bytes < Self.turnBytesMax, let arrival = try nextArrival() {
            bytes += try take(arrival)
            // Virtual time may not run ahead of what is still to be answered.
            if plan.clock == .event { try endTurn() }
        }
        try wakeWhenDue()
        try endTurn()
        inlet.keep = need.upstream
        try inlet.tick(at: plan.time.steady())
        return bytes >= Self.turnBytesMax || transports.hasAnswers || canGoOn
    }

    /// Whether what had to wait need wait no more.
    private var canGoOn: Bool { held != nil && !outlet.isShort && transports.isIdle }

    /// Goes on with what had to wait, once what it gave so far is appended.
    private func takeHeld() throws -> Int {
        guard let input = held, transports.isIdle, try commit() else { return 0 }
        held = nil
        switch input {
        case .lines(let lines, let first, let now):
            try lines.withUnsafeBytes { try fold($0, first: first, at: now) }
            return lines.count
        case .time(let now, let mark):
            try keep(now, mark)
            return 1
        }
    }

    private func take(_ arrival: LinkClient.Arrival) throws -> Int {
        switch arrival {
        case .welcome(let log, let identity, let last):
            try begin(log, identity, last)
            return 0
        case .batch(let first, _, let now, let lines):
            try fold(lines, first: first, at: now)
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
        taken = start?.moment.position ?? 0
        committed = max(taken, outlet.log.cursor.positions[log] ?? 0)
        guard committed <= last else {
            throw LinkError.upstreamLost(endpoint: inlet.endpoint, log: log, taken: committed, holds: last)
        }
        try outlet.recoverDeadLetters(upstream: log)
        let context = StageContext(log: outlet.log.identity, upstream: identity, upstreamName: log)
        let epochs = try past.epochs(from: taken)
        (self.context, self.epochs) = (context, epochs)
        clock = StageClock(try start?.stage ?? S(epochs.first, context: context), now: start?.moment.now ?? .epoch)
        keeper = SnapshotKeeper(S.self, plan, outlet.log, upstream: (log, identity))
        if committed > 0 {
            rebuild = try Rebuild(
                plan, upstream: log, through: committed, own: start?.moment.firstRead ?? 1,
                answers: RecordedAnswers(S.self, past.today))
        } else {
            try goOnUnderTodaysSettings(after: 0)
        }
        start = nil
        keeper?.remove { [first = inlet.upstreamFirst] in $0.position + 1 < first }
    }

    func trimmed(to first: UInt64) { keeper?.remove { $0.firstRead < first } }

    private func nextArrival() throws -> LinkClient.Arrival? {
        do { return try inlet.receive() } catch let error as LinkError {
            guard case .refused(_, "link.after", let reason) = error, let start else { throw error }
            try fallBack(from: start, because: reason)
            return nil
        }
    }

    /// The upstream has lost events that the snapshot includes, and that our log may know nothing of: then nothing is
    /// lost that was told of, and an older state serves.
    private func fallBack(from start: RestoredStage<S>, because reason: String) throws {
        let position = start.moment.position
        StandardError.write("\(plan.stage): snapshot passed over: it includes event \(position), and \(reason)")
        let cursor = outlet.log.cursor.positions.values.max() ?? 0
        if cursor < position { try snapshots?.remove(after: position - 1) }
        self.start = try snapshots?.newest(through: position - 1)
        try inlet.open(after: self.start?.moment.position ?? 0)
    }

    // MARK: Putting aside

    /// Whether the stage's state is that of its log and of what it has taken in, and of nothing that is still to come.
    private var isSettled: Bool {
        rebuild == nil && transports.isIdle && out.isEmpty && !outlet.isShort && !mustRecord && held == nil
    }

    private var moment: SnapshotMoment? {
        clock.map { SnapshotMoment(position: taken, sequence: outlet.log.lastSequence, now: $0.now) }
    }

    private func putAside() throws {
        guard keeper?.isDue == true, isSettled, let clock, let moment else { return }
        try outlet.flushDeadLetters()
        keeper?.take(clock.stage, moment)
    }

    // MARK: Folding

    private func fold(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        if plan.clock == .event {
            guard try advance(to: now) else {
                held = .lines(Array(lines), first: first, now: now)
                return
            }
        }
        var (sequence, end) = (first, 0)
        for line in Lines(lines) {
            try fold(line, sequence, at: now)
            sequence += 1
            end += line.count + 1
            if out.lines.count >= StageOutlet.batchBytesFull, try !commitFullBatch(through: sequence - 1) { break }
        }
        if end < lines.count { held = .lines(Array(lines[end...]), first: sequence, now: now) }
        taken = sequence - 1
        eventsIn += sequence - first
        ungranted += end
        keeper?.noteInput(end)
    }

    @inline(__always)
    private func fold(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, at now: Instant) throws {
        if rebuild != nil { try rebuildStep(before: sequence) }
        events.read(line, sequence: sequence, into: &out) { event, out in
            clock?.receive(event, at: now, into: &out)
        }
    }

    private func rebuildStep(before sequence: UInt64) throws {
        guard let through = rebuild?.through else { return }
        let isOver = sequence > through
        while let now = try rebuild?.nextWake(before: isOver ? UInt64.max : sequence) {
            while let settings = epochs?.next(beforeWakeAt: now) { try adopt(settings) }
            clock?.advance(to: now, into: &out)
        }
        while let settings = epochs?.next(beforeEvent: min(sequence, through)) { try adopt(settings) }
        forgetOutputs()
        guard isOver else { return }
        rebuild = nil
        committed = through
        try goOnUnderTodaysSettings(after: through)
    }

    /// Pushes are answered first: no state is taken down while one is not.
    private func adopt(_ settings: S.Settings) throws {
        forgetOutputs()
        if let context { try clock?.adopt(settings, context: context) }
    }

    /// The past is as it was; from here on the pipeline file's settings count.
    private func goOnUnderTodaysSettings(after sequence: UInt64) throws {
        while let settings = epochs?.next(beforeEvent: .max) { try adopt(settings) }
        if past.hasChanged { try adopt(past.today) }
        try past.record(after: sequence, now: outlet.log.lastNow)
    }

    /// What a stage says of its past is in its log already; its pushes were answered then.
    private func forgetOutputs() {
        while let now = clock?.now, case let deliveries = out.takeDeliveries(), !deliveries.isEmpty {
            for delivery in deliveries {
                let answer = rebuild?.answer(to: delivery) ?? TransportAnswer(delivery.id, .accepted)
                clock?.receive(answer, at: now, into: &out)
            }
        }
        out.discard()
    }

    // MARK: Time

    /// Moves virtual time on; each deadline on the way becomes a batch of its own time.
    ///
    /// - Returns: False where the log has no room for what is due on the way: then it is for later.
    private func advance(to time: Instant) throws -> Bool {
        while let deadline = clock?.stage.deadline, deadline <= time {
            guard try commit() else { return false }
            clock?.serveDeadlines(through: deadline, into: &out)
            guard try commit() else { return false }
        }
        if let now = clock?.now, time > now {
            guard try commit() else { return false }
            clock?.advance(to: time, into: &out)
        }
        return true
    }

    private func keep(_ now: Instant, _ mark: UInt64) throws {
        try finishRebuild()
        guard plan.clock == .event else { return }
        guard try advance(to: now) else {
            held = .time(now, mark: mark)
            return
        }
        promised = now
        self.mark = max(self.mark, mark)
    }

    /// Whether a deadline that passes now is served now: not while the past is fed again, nor before a window is
    /// answered, nor while the log has no room.
    private var mayWake: Bool { rebuild == nil && transports.isIdle && !outlet.isShort }

    private func wakeWhenDue() throws {
        try finishRebuild()
        guard plan.clock == .wall, mayWake, let deadline = clock?.stage.deadline, deadline <= plan.time.wall() else {
            return
        }
        guard try commit() else { return }
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
        guard try commit() else { return }
        try putAside()
        guard transports.isIdle, held == nil, plan.clock == .event, let promised else { return }
        outlet.server.promise(now: promised, mark: mark)
        passedMark = mark
    }

    /// - Parameter always: Append even when there are no events: a wake, or a cursor that is far behind.
    /// - Returns: False where the log has no room; what is to be appended stays, and nothing more is taken in.
    @discardableResult
    private func commit(always: Bool = false) throws -> Bool {
        guard rebuild == nil, let now = clock?.now else {
            try grant()
            return true
        }
        serveWhatIsDue(at: now)
        let deliveries = out.takeDeliveries()
        guard deliveries.isEmpty, transports.isIdle else {
            transports.deliver(deliveries)
            return true
        }
        mustRecord = mustRecord || always || taken - committed >= 65_536
        let (cursor, time) = (Cursor([upstreamName: taken]), max(now, outlet.log.lastNow))
        switch try outlet.commit(&out, cursor: cursor, now: time, always: mustRecord) {
        case .noRoom: return false
        case .unneeded: break
        case .appended: (committed, mustRecord) = (taken, false)
        }
        try grant()
        return true
    }

    /// No batch leaves a deadline unserved that lies at its own time: whoever feeds the stage its past again could not
    /// tell whether the log has what came of it.
    private func serveWhatIsDue(at now: Instant) {
        if transports.isIdle { clock?.serveDeadlines(through: now, into: &out) }
    }

    /// In the middle of a batch of the upstream's: one change may have matched thousands of subscriptions.
    private func commitFullBatch(through sequence: UInt64) throws -> Bool {
        guard rebuild == nil else {
            forgetOutputs()
            return true
        }
        taken = sequence
        return try commit()
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
