import EventLog
import JSON
import PipelineKit
import ZeroMQ

/// The work of a host whose stage is fed by producers at its door.
///
/// A producer numbers its lines from 1. The log's cursor holds each producer's last number, so a line that is sent
/// again after a lost answer is not taken twice.
final class SourceStageWork<S: Stage>: HostWork {
    let outlet: StageOutlet
    private let plan: HostPlan
    private let control: HostControl
    private let door: any MessageSocket
    private var clock: StageClock<S>
    private var out = Outbox()
    private var events = EventReader(limits: JSONLimits(bytesMax: DoorLimits.lineBytesMax, refusesDuplicateKeys: true))
    private var frames = JSONParser(limits: JSONLimits(bytesMax: 64 << 10, depthMax: 8))
    private let message = ZMQMultipart()
    private var producers: ProducerPositions
    private var answers = DoorAnswers()
    private var eventsIn: UInt64 = 0
    private var refusedFrames = 0
    private var promised: Instant?
    private var mark: UInt64 = 0

    private static var turnBytesMax: Int { 1 << 20 }

    init(_ plan: HostPlan, _ control: HostControl, settings: S.Settings, outlet: StageOutlet, door: any MessageSocket)
        throws
    {
        self.plan = plan
        self.control = control
        self.outlet = outlet
        self.door = door
        let log = outlet.log
        let context = StageContext(log: log.identity, upstream: log.identity, upstreamName: log.name)
        clock = StageClock(try S(settings, context: context), now: log.lastNow)
        producers = ProducerPositions(log.cursor)
        try recall()
    }

    var sockets: [any MessageSocket] { [door] }
    var isIdle: Bool { true }
    var wantsInput: Bool { true }
    var timeout: Duration { .seconds(1) }

    func fill(_ report: inout HostReport) {
        report.phase = .running
        report.eventsIn = eventsIn
        report.mark = mark
        report.door = door.lastEndpoint
        report.refusedFrames = refusedFrames + outlet.server.refusedFrames
    }

    func finish() throws {
        try commit()
        try outlet.log.flush()
        try answers.send(over: door, durable: outlet.log.lastSequence)
        try outlet.close()
    }

    private func recall() throws {
        guard outlet.log.lastSequence > 0 else { return }
        let reader = try EventLogReader(directory: plan.logDirectory, from: .sequence(1))
        while let batch = try reader.next() {
            var sequence = batch.header.firstSequence
            for line in Lines(batch.body) {
                events.read(line, sequence: sequence, into: &out) { event, _ in
                    clock.recall(event, at: batch.header.now)
                }
                sequence += 1
            }
        }
        out.discard()
    }

    func turn(hasInput: Bool) throws -> Bool {
        var bytes = 0
        while hasInput, bytes < Self.turnBytesMax {
            switch try door.receive(into: message, wait: false) {
            case .empty:
                try endTurn()
                return false
            case .tooManyFrames(let count): refuseFrames(count)
            case .received:
                bytes += message.byteCount
                try take()
            }
        }
        try endTurn()
        return hasInput
    }

    private func endTurn() throws {
        try commit()
        try answers.send(over: door, durable: outlet.log.durableSequence)
        if plan.clock == .event, let promised { outlet.server.promise(now: promised, mark: mark) }
    }

    private func commit() throws {
        guard out.count > 0 || producers.hasChanged else { return }
        let now = max(clock.now, outlet.log.lastNow)
        _ = try outlet.commit(&out, cursor: producers.takeChanges(), now: now, always: true)
    }

    // MARK: Frames

    private func take() throws {
        guard message.count >= 2 else {
            refusedFrames += 1
            return
        }
        let peer = message.bytes(at: 0)
        let control: JSONValue
        do throws(JSONError) { control = try frames.parse(message[1]) } catch {
            return refuse(peer, "door.frame", "the control frame is not JSON: \(error)")
        }
        switch control.text("type") {
        case "hello": hello(control, from: peer)
        case "produce": try produce(control, from: peer)
        case "time": try time(control, from: peer)
        case let type: refuse(peer, "door.type", "unknown frame type '\(type ?? "")': hello, produce")
        }
    }

    private func refuse(_ peer: [UInt8], _ code: String, _ reason: String) {
        refusedFrames += 1
        answer(peer, LinkFrame.error(code, reason))
    }

    private func refuseFrames(_ count: Int) {
        refuse(message.bytes(at: 0), "door.frames", "a message of \(count - 1) frames; produce has two, others one")
    }

    private func answer(_ peer: [UInt8], _ frame: [UInt8]) { answers.add(frame, to: peer, needs: lastWithPending) }

    /// The log's last sequence once the turn's events are appended.
    private var lastWithPending: UInt64 { outlet.log.lastSequence + UInt64(out.count) }

    private func hello(_ control: JSONValue, from peer: [UInt8]) {
        guard control.natural("protocol") == UInt64(LinkFrame.version) else {
            return refuse(peer, "link.version", "this door speaks protocol \(LinkFrame.version)")
        }
        guard let producer = control.text("producer"), isName(producer) else {
            return refuse(peer, "door.producer", "hello needs \"producer\", a name of 1 to 200 bytes")
        }
        let log = outlet.log
        answer(
            peer,
            LinkFrame.welcome(
                log: log.name, identity: log.identity, last: log.lastSequence, after: producers[producer]))
    }

    private func isName(_ name: String) -> Bool { (1...200).contains(name.utf8.count) }

    private func produce(_ control: JSONValue, from peer: [UInt8]) throws {
        guard message.count == 3, let producer = control.text("producer"), isName(producer),
            let first = control.natural("first"), first > 0
        else {
            return refuse(peer, "door.produce", "produce needs \"producer\", \"first\" (from 1) and a frame of lines")
        }
        let before = producers[producer]
        guard first <= before + 1 else {
            return refuse(peer, "door.gap", "line \(first) of '\(producer)' came, line \(before + 1) is next")
        }
        let admission = try admit(message[2], of: producer, first: first, after: before)
        producers.advance(producer, to: admission.through)
        answer(peer, admission.answer(to: producer, last: lastWithPending))
    }

    private func admit(
        _ lines: UnsafeRawBufferPointer, of producer: String, first: UInt64, after before: UInt64
    ) throws -> Admission {
        if plan.clock == .wall { clock.advance(to: plan.time.wall(), into: &out) }
        var admission = Admission(through: before)
        let count = out.count
        var number = first
        for line in Lines(lines) {
            if number > before { try admit(line, number, of: producer) }
            if out.lines.count >= StageOutlet.batchBytesFull { try leave(producer, through: number) }
            number += 1
        }
        admission.through = max(before, number - 1)
        admission.accepted = out.count - count + committedInTurn
        committedInTurn = 0
        admission.refused = out.takeRejections()
        return admission
    }

    /// Events of the frame in hand that left with an earlier batch, because it was full or virtual time moved on.
    private var committedInTurn = 0

    @inline(__always)
    private func admit(_ line: UnsafeRawBufferPointer, _ number: UInt64, of producer: String) throws {
        eventsIn += 1
        guard plan.clock == .event else {
            return events.read(line, sequence: number, into: &out) { event, out in
                clock.receive(event, at: clock.now, into: &out)
            }
        }
        var moment: Instant?
        events.read(line, sequence: number, into: &out) { event, out in
            moment = virtualTime(of: event, into: &out)
        }
        guard let moment else { return }
        if moment > clock.now { try leave(producer, through: number - 1) }
        events.read(line, sequence: number, into: &out) { event, out in clock.receive(event, at: moment, into: &out) }
    }

    /// Appends what is there, in the middle of a frame; what was refused stays for the answer.
    private func leave(_ producer: String, through number: UInt64) throws {
        committedInTurn += out.count
        let rejections = out.takeRejections()
        producers.advance(producer, to: number)
        try commit()
        for rejected in rejections {
            rejected.line.withUnsafeBytes { out.reject(sequence: rejected.sequence, line: $0, rejected.rejection) }
        }
    }

    /// The time a line gives itself; without one it happens when the line before it did.
    private func virtualTime(of event: borrowing InputEvent, into out: inout Outbox) -> Instant? {
        guard let text = event.json["time"] else { return clock.now }
        guard let time = text.string.flatMap({ Instant(rfc3339: $0) }) else {
            out.reject(
                event,
                Rejection(
                    code: "time.invalid", reason: "\"time\" must be RFC 3339, like 2026-11-20T09:30:00Z", path: "time"))
            return nil
        }
        guard time >= clock.now else {
            let reason =
                "\(time.rfc3339) is before \(clock.now.rfc3339), the time of an earlier line; order the lines by time"
            out.reject(event, Rejection(code: "time.backwards", reason: reason, path: "time"))
            return nil
        }
        return time
    }

    /// Moves virtual time by hand and passes a mark on.
    private func time(_ control: JSONValue, from peer: [UInt8]) throws {
        guard plan.clock == .event, let now = control["now"]?.int64, let mark = control.natural("mark") else {
            return refuse(peer, "door.time", "only a pipeline on virtual time takes \"time\" frames")
        }
        try commit()
        clock.advance(to: Instant(microseconds: max(now, clock.now.microseconds)), into: &out)
        promised = clock.now
        self.mark = max(self.mark, mark)
        answer(peer, LinkFrame.time(after: outlet.log.lastSequence, now: clock.now, mark: mark))
    }
}
