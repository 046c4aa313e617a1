import EventLog
import JSON
import PipelineKit
import Time

/// A stage's way out: its log, the link that serves the log, and its dead letters. The one place that appends.
final class StageOutlet {
    let log: EventLogWriter
    let server: LinkServer
    private let deadLetters: DeadLetters
    private let stage: String
    private let sync: SyncPolicy
    private let steady: @Sendable () -> ContinuousClock.Instant
    private var placeChecked: ContinuousClock.Instant
    private(set) var room: DiskRoom
    private let retention: Retention
    private var time: LogTime
    var pauses: PauseMeter
    private(set) var eventsOut: UInt64 = 0

    enum Commit {
        case appended
        /// There was nothing to append.
        case unneeded
        /// Nothing was appended, and what was to be is still in the outbox.
        case noRoom
    }

    /// A batch that has this much is appended at once; the log's own limit leaves room for one event's outputs more.
    static let batchBytesFull = 8 << 20

    /// Takes the log before it binds: binding an `ipc` endpoint takes it away from whoever had it, and the log's lock
    /// says whether someone has.
    init(_ plan: HostPlan, _ sockets: some HostConnections) throws {
        log = try EventLogWriter(plan.logOptions)
        stage = plan.stage
        sync = plan.logOptions.sync
        server = LinkServer(
            socket: try sockets.bindServer(), log: log, directory: plan.logDirectory, steady: plan.time.steady)
        deadLetters = DeadLetters(plan, identity: log.identity)
        steady = plan.time.steady
        placeChecked = steady()
        room = DiskRoom(stage: plan.stage)
        retention = Retention(plan)
        time = LogTime(plan.time)
        pauses = PauseMeter(steady)
        server.first = try log.segments().first?.firstSequence ?? 1
    }

    /// What time it is, where the stage goes by the machine's clock.
    ///
    /// - Parameter latest: The latest time that the stage has taken in.
    func now(from latest: Instant = .epoch) -> Instant {
        let wasTold = clockBehind != .zero
        let now = time.now(from: max(latest, log.lastNow))
        if wasTold != (clockBehind != .zero) { StandardError.write("\(stage): \(time.text)") }
        return now
    }

    /// How far the machine's clock is behind the log's time: see ``LogTime/behind``.
    var clockBehind: Duration { time.behind }

    /// Drops what of the logs may go.
    ///
    /// - Returns: The first sequence that is left, where something goes.
    func retain(_ need: RetentionFloor) -> UInt64? {
        guard let first = retention.turn(self, need) else { return nil }
        server.first = first
        return first
    }

    /// Calls back when ``retain(_:)`` has something to do before its time, on any thread.
    func onRemovable(_ body: @escaping @Sendable () -> Void) { retention.onReady(body) }

    /// The segments of the dead letters; nil where there are none.
    var deadLettersOnDisk: SegmentsOnDisk? { deadLetters.segmentsOnDisk }

    /// Whether the last append found no room.
    var isShort: Bool { room.shortage != nil }

    var deadLetterCount: UInt64 { deadLetters.count }

    func recoverDeadLetters(upstream: String) throws { try deadLetters.recover(upstream: upstream) }

    /// Makes one turn's outputs and the cursor they answer one batch, and sends it on.
    ///
    /// After ``Commit/noRoom`` call it again, with no more in the outbox and the same cursor, until it is done.
    ///
    /// - Parameter always: Append even when there are no events, so that the cursor or a wake is on record.
    func commit(_ out: inout Outbox, cursor: Cursor, now: Instant, always: Bool = false) throws -> Commit {
        guard room.mayTry(at: steady()) else { return .noRoom }
        let first: UInt64
        pauses.lap(.input)
        do throws(EventLogError) {
            try deadLetters.append(out.rejections, cursor: cursor, now: now)
            out.removeRejections()
            guard out.count > 0 || always else {
                room.noteRoom()
                return .unneeded
            }
            try deadLetters.makeDurable()
            pauses.lap(.deadLetters)
            let segment = log.segmentFirst
            first = try log.append(out.lines, count: out.count, cursor: cursor, now: now)
            pauses.lap(log.segmentFirst == segment ? .input : .segment)
        } catch {
            try room.note(error, at: steady())
            return .noRoom
        }
        room.noteRoom()
        try publish(&out, first, now)
        return .appended
    }

    /// Does what needs room beside the log.
    ///
    /// - Returns: False where there is none: then it is to be tried again.
    func attempt(_ work: () throws(EventLogError) -> Void) throws -> Bool {
        guard room.mayTry(at: steady()) else { return false }
        do throws(EventLogError) { try work() } catch {
            try room.note(error, at: steady())
            return false
        }
        return true
    }

    private func publish(_ out: inout Outbox, _ first: UInt64, _ now: Instant) throws {
        let count = out.count
        if count > 0 { try show(first, count, now, out.lines) }
        eventsOut += UInt64(count)
        for line in out.said { StandardError.write("\(stage): \(line)") }
        out.removeEvents()
    }

    private func show(_ first: UInt64, _ count: Int, _ now: Instant, _ body: UnsafeRawBufferPointer) throws {
        guard sync != .always else { return }
        try server.publish(first: first, count: count, now: now, body: body)
    }

    /// Lets consumers see what has become durable since.
    ///
    /// - Throws: ``EventLogError/syncFailed(file:errno:)`` where nothing becomes durable any more. Without it a stage
    ///   without further input would go on for ever, and what it appended last would never be seen.
    func revealDurable() throws {
        try log.check()
        try deadLetters.check()
        try checkPlace()
        if sync == .always { server.reveal(through: log.durableSequence) }
    }

    private static let placePatience = Duration.seconds(1)

    /// Someone may have removed the data folder while the stage runs.
    private func checkPlace() throws {
        let now = steady()
        guard now - placeChecked >= StageOutlet.placePatience else { return }
        placeChecked = now
        try log.checkPlace()
    }

    /// Makes the dead letters of now as durable as a snapshot is that knows of their input. For any thread.
    var flushingDeadLetters: @Sendable () throws -> Void {
        if sync == .always, let flushing = deadLetters.flushing { return flushing }
        return {}
    }

    func close() throws {
        retention.finish()
        try log.flush()
        server.reveal(through: log.lastSequence)
        try log.close()
        try deadLetters.close()
    }
}

/// Input that a stage could not use, kept with its reason in a log of its own beside the stage's.
///
/// Dead letters are appended before the batch that moves the cursor past them, with the same cursor; after a crash
/// between the two, those that the log already holds are skipped.
final class DeadLetters {
    private let plan: HostPlan
    private let identity: LogIdentity
    private var writer: EventLogWriter?
    private var held: UInt64
    private(set) var count: UInt64 = 0

    init(_ plan: HostPlan, identity: LogIdentity) {
        self.plan = plan
        self.identity = identity
        held = 0
    }

    /// Opens the log of an earlier run, so that what it holds is not written twice.
    func recover(upstream: String) throws {
        guard plan.hasDeadLetters else { return }
        let writer = try open()
        held = writer.cursor.positions[upstream] ?? 0
        count = writer.lastSequence
    }

    func append(_ rejected: [Outbox.Rejected], cursor: Cursor, now: Instant) throws(EventLogError) {
        let fresh = rejected.filter { $0.sequence > held }
        guard let last = fresh.last, let upstream = cursor.input?.log else { return }
        var lines = ByteBuffer()
        for letter in fresh { letter.write(ofStage: plan.stage, log: upstream, to: &lines) }
        let writer = try open()
        let time = max(now, writer.lastNow)
        _ = try writer.append(lines.bytes, count: fresh.count, cursor: Cursor([upstream: last.sequence]), now: time)
        held = max(held, last.sequence)
        count += UInt64(fresh.count)
    }

    var segmentsOnDisk: SegmentsOnDisk? { writer?.segmentsOnDisk }

    /// Nil where there are none.
    var flushing: (@Sendable () throws -> Void)? { writer?.flushing }

    /// Waits for the disk where the log's policy says so: behind a cursor that outlives the loss of power, no letter
    /// before it may be missing.
    func makeDurable() throws(EventLogError) {
        guard let writer, writer.durableSequence < writer.lastSequence else { return }
        try writer.flush()
    }

    func check() throws { try writer?.check() }

    func close() throws { try writer?.close() }

    private func open() throws(EventLogError) -> EventLogWriter {
        if let writer { return writer }
        let opened = try EventLogWriter(plan.deadLetterOptions(beside: identity))
        writer = opened
        return opened
    }
}
