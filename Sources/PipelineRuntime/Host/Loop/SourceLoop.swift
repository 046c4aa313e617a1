import Events
import JSON
import PipelineKit
import Time
import ZeroMQ

/// The loop of a stage that producers feed through its door.
///
/// A producer numbers its lines from 1. The log's cursor holds each producer's last number, so a line that is sent
/// again after a lost answer is not taken twice. The cursor also records the owner of the producer's name. The door
/// refuses lines that another producer sends under that name, and does not record them. The door forgets some names:
/// see ``ProducerPositions``.
final class SourceLoop<S: Stage>: HostWork {
    var state: HostState
    let outlet: StageOutlet
    let plan: HostPlan
    private let control: HostControl
    private let door: any MessageSocket
    let context: StageContext
    private let past: LogPast
    private(set) var timeline: SettingsTimeline<S>
    private(set) var clock: StageClock<S>
    private var out = Outbox()
    private var events = EventReader.atDoor()
    private let frames = ControlFrames(side: .door, framesRule: #"a "produce" message has two, any other message one"#)
    private var producers: ProducerPositions
    private var answers = DoorAnswers()
    private var eventsIn: UInt64 = 0
    private var refusedFrames = 0
    private var promised: Instant?
    private var mark: UInt64 = 0
    private var keeper: SnapshotKeeper?

    private static var turnBytesMax: Int { 1 << 17 }

    init(_ plan: HostPlan, _ control: HostControl, settings: S.Settings, outlet: StageOutlet, door: any MessageSocket)
        throws
    {
        self.plan = plan
        self.control = control
        self.outlet = outlet
        self.door = door
        let log = outlet.log
        state = .caughtUp(through: log.lastSequence)
        past = LogPast(directory: plan.logDirectory)
        log.onAppend { [past] in past.note($0) }
        var context = StageContext(
            log: log.identity, upstream: log.identity, upstreamName: log.name, registry: plan.registry)
        context.past = past
        self.context = context
        timeline = try SettingsTimeline<S>(plan, settings, log)
        let start = try SnapshotSearch<S>(plan, context, timeline, lastSequence: log.lastSequence)?.newest()
        clock = StageClock(try start?.stage ?? S(settings, context: context), now: log.lastNow)
        producers = ProducerPositions(log.cursor)
        keeper = SnapshotKeeper(S.self, plan, context, log)
        try clock.recall(
            from: plan.logDirectory, after: start?.moment.sequence ?? 0, through: log.lastSequence
        ) { keeper?.noteInput($0) }
        if timeline.hasChanged { try clock.adopt(settings, context: context) }
        try timeline.record(after: log.lastSequence, now: log.lastNow)
        keeper?.noteFirstNeeded(by: clock.stage)
    }

    var sockets: [any MessageSocket] { [door] }
    var isIdle: Bool { true }
    var conditions: HostState.Conditions { .init(isLogFull: outlet.isFull) }
    var timeout: Duration { outlet.isDiskFull ? .milliseconds(200) : .seconds(1) }
    var retentionFloor: RetentionFloor { keeper?.floorOfSource ?? .everything }

    func fill(_ report: inout HostReport) {
        report.phase = .running
        report.eventsIn = eventsIn
        report.mark = mark
        report.door = door.lastEndpoint
        report.refusedFrames = refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        if try commitForAnswers() { keeper?.finish(clock.stage, moment, after: outlet.flushing) }
        keeper?.dropAndWait()
        try outlet.log.flush()
        try answers.send(over: door, durableBatches: outlet.log.batches)
        try outlet.close()
    }

    func willRemoveEvents(before first: UInt64) { keeper?.remove { $0.firstRead < first } }

    func beginTurn(hasInput: Bool) { state.beginTurn(hasInput: hasInput, bytesMax: Self.turnBytesMax) }

    func perform(_ action: HostState.Action) throws {
        switch action {
        case .takeHeld:
            guard try commit(), case .time(let now, let mark, let asker?) = state.takeHeld() else { return }
            try moveTime(to: now, mark, for: asker)
        case .receive: try receive()
        case .commit: try commitTurn()
        case .takeAnswers, .handOut, .wake: break
        }
    }

    private func receive() throws {
        let arrival = try frames.next(from: door, refuse)
        if case .none = arrival { return state.noteNoInput() }
        state.noteInput(bytes: frames.message.byteCount)
        keeper?.noteInput(frames.message.byteCount)
        if case .frame(let control, let peer) = arrival { try handle(control, from: peer) }
    }

    private func commitTurn() throws {
        if let fault = clock.fault { throw fault }
        let isDone = try commitForAnswers()
        try answers.send(over: door, durableBatches: outlet.log.durableBatches)
        guard isDone else { return }
        takeSnapshotIfDue()
        if state.held == nil, plan.clock == .event, let promised { outlet.server.promise(now: promised, mark: mark) }
    }

    /// Whether all outputs of the stage are in its log, and the log has room.
    var isSettled: Bool { out.count == 0 && !producers.hasChanged && state.isSettled(conditions) }

    private func takeSnapshotIfDue() {
        guard keeper?.checkDue() == true else { return }
        outlet.pauses.lap(.input)
        keeper?.takeSnapshot(
            of: clock.stage, moment, beside: SnapshotMaker(plan, timeline, context), after: outlet.flushing)
        outlet.pauses.lap(.snapshot)
    }

    var moment: SnapshotMoment {
        let last = outlet.log.lastSequence
        return SnapshotMoment(position: last, sequence: last, now: clock.now)
    }

    /// - Returns: False if the log has no room. Then the outputs stay in the outbox, and the door is not read.
    @discardableResult
    private func commit() throws -> Bool {
        guard out.count > 0 || producers.hasChanged else { return true }
        try past.check()
        let now = max(clock.now, outlet.log.lastNow)
        switch try outlet.commit(&out, cursor: producers.changes, now: now, evenIfEmpty: true) {
        case .noRoom: return false
        case .appended, .unneeded: producers.clearChanges()
        }
        return true
    }

    private func commitForAnswers() throws -> Bool {
        guard try commit() else { return false }
        answers.noteAppended(batches: outlet.log.batches)
        return true
    }

    // MARK: Frames

    private func handle(_ control: JSONValue, from peer: [UInt8]) throws {
        switch control.text(.type) {
        case "hello": hello(control, from: peer)
        case "produce": try produce(control, from: peer)
        case "time": try time(control, from: peer)
        case let type: refuse(peer, "door.type", "unknown frame type '\(type ?? "")'; known: hello, produce")
        }
    }

    private func refuse(_ peer: [UInt8], _ code: String, _ reason: String) {
        refusedFrames += 1
        answer(peer, LinkFrame.error(code, reason))
    }

    private func answer(_ peer: [UInt8], _ frame: [UInt8]) { answers.add(frame, to: peer) }

    /// The log's last sequence once this turn's events are appended.
    private var lastWithPending: UInt64 { outlet.log.lastSequence + UInt64(out.count) }

    private func hello(_ control: JSONValue, from peer: [UInt8]) {
        guard control.natural("protocol") == UInt64(LinkFrame.version) else {
            return refuse(peer, "link.version", LinkFrame.wrongVersion(control, at: "door"))
        }
        guard let producer = control.text("producer"), isName(producer) else {
            return refuse(peer, "door.producer", "hello needs \"producer\", a name of 1 to 200 bytes")
        }
        guard let position = permittedPosition(of: producer, control, peer) else { return }
        let log = outlet.log
        answer(
            peer,
            LinkFrame.welcome(
                log: log.name, identity: log.identity, last: lastWithPending, after: position.through,
                checksum: position.checksum?.value, refused: position.refused))
    }

    /// The position of the producer that sent this frame. Refuses the frame and returns nil if the producer has neither a
    /// key nor a secret, if its secret has a wrong length, if the door has no room for the name, or if the name belongs
    /// to another producer. A name without an owner belongs to this producer from its first line on.
    private func permittedPosition(
        of producer: String, _ control: JSONValue, _ peer: [UInt8]
    ) -> ProducerPositions.Position? {
        let secret = control.text("secret")
        if let secret, !ProducerSecret.byteCounts.contains(secret.utf8.count) {
            refuse(peer, "door.secret", "\"secret\" has \(secret.utf8.count) bytes; it needs 16 to 200 bytes")
            return nil
        }
        let owners = ProducerOwner.owners(client: frames.message.userID, secret: secret)
        guard let first = owners.first else {
            refuse(
                peer, "door.secret",
                "hello and produce need \"secret\", 16 to 200 bytes that only this producer knows, to protect its name"
            )
            return nil
        }
        guard producers.hasRoom(for: producer) else {
            refuse(
                peer, "door.producers",
                "the door has accepted lines under \(ProducerPositions.lastingMax) or more names without '~' and accepts no "
                    + "new name: use a name that it knows, or a passing name (one that begins with '~')")
            return nil
        }
        guard let known = producers[producer] else {
            return .init(owner: first, through: 0, checksum: LineChecksum(), refused: 0)
        }
        guard let owner = known.owner else { return .init(owner: first, through: known.through) }
        guard owners.contains(owner) else {
            refuse(
                peer, "door.owner",
                "the producer name '\(producer)' belongs to the program that first used it, with another key or secret; send "
                    + "with that key or secret, or under another name")
            return nil
        }
        return known
    }

    private func isName(_ name: String) -> Bool { (1...200).contains(name.utf8.count) }

    private func produce(_ control: JSONValue, from peer: [UInt8]) throws {
        guard frames.message.count == 3, let producer = control.text("producer"), isName(producer),
            let first = control.natural(.first), first > 0
        else {
            return refuse(peer, "door.produce", "produce needs \"producer\", \"first\" (from 1) and a frame of lines")
        }
        guard let position = permittedPosition(of: producer, control, peer) else { return }
        let next = position.through + 1
        guard first <= next else {
            return refuse(peer, "door.gap", "found line \(first) of '\(producer)', expected line \(next)")
        }
        let admission = try admit(frames.message[2], of: producer, first: first, behind: position)
        answer(peer, admission.answer(to: producer, last: lastWithPending))
    }

    private func admit(
        _ lines: UnsafeRawBufferPointer, of producer: String, first: UInt64, behind start: ProducerPositions.Position
    ) throws -> Admission {
        if plan.clock == .wall { clock.advance(to: outlet.now(from: clock.now), into: &out) }
        var admission = Admission(through: start.through)
        var position = start
        var number = first
        for line in Lines(lines) {
            if number > position.through {
                guard try admit(line, number, of: producer, position) else { break }
                if !out.saved.isEmpty { admission.add(out.takeSaved(), savedByLine: number, at: lastWithPending) }
                position.through = number
                position.checksum?.add(line: line)
                position.refused = start.refused.map { $0 + UInt64(out.rejections.count) }
            }
            number += 1
            if out.lines.count >= outlet.batchBytesFull, try !commitMidFrame(producer, position) { break }
        }
        producers.advance(producer, to: position)
        admission.through = position.through
        admission.refused = out.takeRejections()
        admission.accepted = Int(position.through - start.through) - admission.refused.count
        return admission
    }

    /// - Returns: False if the log has no room for the earlier lines. The producer then sends this line again.
    @inline(__always)
    private func admit(
        _ line: UnsafeRawBufferPointer, _ number: UInt64, of producer: String, _ position: ProducerPositions.Position
    ) throws -> Bool {
        guard plan.clock == .event else {
            if let event = events.read(line, sequence: number, into: &out) {
                clock.receive(event, at: clock.now, into: &out)
            }
            eventsIn += 1
            return true
        }
        var moment: Instant?
        if let event = events.read(line, sequence: number, into: &out) {
            moment = VirtualTime.of(event, after: clock.now, into: &out)
        }
        if let moment {
            if moment > clock.now, try !commitMidFrame(producer, position) { return false }
            if let event = events.read(line, sequence: number, into: &out) {
                clock.receive(event, at: moment, into: &out)
            }
        }
        eventsIn += 1
        return true
    }

    /// Commits in the middle of a frame; refused lines stay in the outbox. False if the log has no room.
    private func commitMidFrame(_ producer: String, _ position: ProducerPositions.Position) throws -> Bool {
        let rejections = out.takeRejections()
        producers.advance(producer, to: position)
        let isDone = try commit()
        for rejected in rejections {
            rejected.line.withUnsafeBytes { out.reject(sequence: rejected.sequence, line: $0, rejected.rejection) }
        }
        return isDone
    }

    private func time(_ control: JSONValue, from peer: [UInt8]) throws {
        guard plan.clock == .event else {
            return refuse(peer, "door.time", "found a \"time\" frame, but this pipeline runs in real time")
        }
        guard let now = control["now"]?.int64, let mark = control.natural("mark") else {
            return refuse(peer, "door.time", "time needs \"now\" (microseconds since 1970) and \"mark\" (from 0)")
        }
        try moveTime(to: Instant(microseconds: now), mark, for: peer)
    }

    private func moveTime(to now: Instant, _ mark: UInt64, for peer: [UInt8]) throws {
        guard try commit() else {
            return state.hold(.time(now, mark: mark, asker: peer))
        }
        clock.advance(to: max(now, clock.now), into: &out)
        promised = clock.now
        self.mark = max(self.mark, mark)
        answer(peer, LinkFrame.time(after: outlet.log.lastSequence, now: clock.now, mark: mark))
    }
}
