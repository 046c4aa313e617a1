import EventLog
import JSON
import PipelineKit
import Time

/// A stage's log, the link that serves it, and its dead letters. All appends to either log go through this object.
final class StageOutlet {
    let log: EventLogWriter
    let server: LinkServer
    /// Nil for local files alone.
    private let home: (any LogHome)?
    let deadLetters: DeadLetters
    /// Nil if no other machine may run the stage.
    let lease: OwnerLease?
    private let takeOver: Duration?
    /// Since when the home has not stored a batch, and how many batches it must store to have it.
    private var unstored: (since: ContinuousClock.Instant, batches: UInt64)?
    private let stage: String
    private let sync: SyncPolicy
    private let monotonicNow: @Sendable () -> ContinuousClock.Instant
    private var segmentChecked: ContinuousClock.Instant
    private(set) var room: DiskRoom
    let retention: Retention
    private var time: LogTime
    var pauses: PauseMeter
    private(set) var eventsOut: UInt64 = 0

    enum Commit {
        case appended
        case unneeded
        /// Outputs cannot be appended at the moment, because the disk is full or too much waits for the home of the
        /// logs. The outputs are still in the outbox.
        case noRoom
    }

    /// As soon as the outputs reach this size, they are appended, even in the middle of an upstream batch or of a
    /// producer's frame. The outputs of the last input event may make the batch larger than this size, because the
    /// log's own limit for a batch is larger.
    let batchBytesFull: Int

    /// Opens the log before it binds the socket. Binding an `ipc` endpoint would take the endpoint from another process
    /// that serves this log. The log's lock shows whether there is such a process.
    init(_ plan: HostPlan, _ sockets: some HostConnections) throws {
        home = try plan.openHome()
        log = try EventLogWriter(plan.logOptions(in: home))
        lease = try StageOutlet.lease(plan, log, home)
        takeOver = plan.hosts?.takeOver
        stage = plan.stage
        sync = home == nil ? plan.sync : .always
        batchBytesFull = home == nil ? 8 << 20 : HomeMessage.batchBytesMax / 3
        server = LinkServer(
            socket: try sockets.bindServer(), log: log, directory: plan.logDirectory,
            monotonicNow: plan.time.monotonicNow)
        deadLetters = DeadLetters(plan, identity: log.identity, home)
        if let cut = log.recovery, home != nil { StandardError.write("\(plan.stage): \(cut.text)") }
        monotonicNow = plan.time.monotonicNow
        segmentChecked = monotonicNow()
        room = DiskRoom(stage: plan.stage)
        retention = Retention(plan)
        time = LogTime(plan.time)
        pauses = PauseMeter(monotonicNow)
        server.first = try log.segments().first?.firstSequence ?? 1
    }

    private static func lease(
        _ plan: HostPlan, _ log: EventLogWriter, _ home: (any LogHome)?
    ) throws -> OwnerLease? {
        guard let hosts = plan.hosts, let home else { return nil }
        return OwnerLease(
            plan, hosts, try home.beacons(of: plan.logName), owner: log.ownerPosition, last: log.durableEnd,
            isOwner: log.findingOwner)
    }

    /// Whether another machine may have taken the log over without this one's knowledge.
    var mayBeReplaced: Bool {
        guard let lease, let takeOver else { return false }
        let now = monotonicNow()
        if let unstored, now - unstored.since >= takeOver / 3 { return true }
        return !lease.isFresh(at: now)
    }

    /// Notes since when the home has not stored a batch.
    private func noteUnstored() {
        guard lease != nil else { return }
        let (stored, batches) = (log.durableBatches, log.batches)
        if let unstored, stored < unstored.batches { return }
        unstored = stored < batches ? (monotonicNow(), batches) : nil
    }

    /// The log's time now, for a stage on the machine's clock. `latest` is the latest time that the stage has seen.
    func now(from latest: Instant = .epoch) -> Instant {
        let wasReported = clockBehind != .zero
        let now = time.now(from: max(latest, log.lastNow))
        if wasReported != (clockBehind != .zero) { StandardError.write("\(stage): \(time.text)") }
        return now
    }

    var clockBehind: Duration { time.behind }

    /// Lets ``Retention`` remove old segments in the background. Returns the first sequence that remains; nil if this
    /// call removes no segment.
    func retain(_ floor: RetentionFloor) -> UInt64? {
        guard let first = retention.work(self, floor) else { return nil }
        server.first = first
        return first
    }

    /// Whether the last write to the log, or to a file beside it, failed for lack of room.
    var isDiskFull: Bool { room.shortage != nil }

    /// Whether outputs cannot be appended at the moment, so that the stage takes no input: the disk is full, or too
    /// much waits for the home of the logs.
    var isFull: Bool { isDiskFull || isHomeBehind }

    /// Why the home of the logs cannot store anything at the moment; nil if it can.
    var homeDelay: HomeDelay? { home?.delay }

    private var isHomeBehind: Bool { log.isHomeBehind(before: 0) || deadLetters.isWaitingForHome }

    /// Appends the rejections in the outbox to the dead letters, and its events to the log as one batch. The batch's
    /// cursor says which input the events answer. Under the sync policy `always`, consumers get the batch when it is
    /// durable: see ``revealDurable()``. Under any other policy they get it at once.
    ///
    /// After ``Commit/noRoom``, call this again with the same cursor and no further outputs, until it succeeds.
    ///
    /// - Parameter evenIfEmpty: Whether to append a batch even without events, to record the cursor or a wake.
    func commit(_ out: inout Outbox, cursor: Cursor, now: Instant, evenIfEmpty: Bool = false) throws -> Commit {
        guard room.mayTry(at: monotonicNow()), !log.isHomeBehind(before: out.lines.count) else { return .noRoom }
        let first: UInt64
        pauses.lap(.input)
        do throws(EventLogError) {
            try deadLetters.append(out.rejections, cursor: cursor, now: now)
            out.removeRejections()
            guard out.count > 0 || evenIfEmpty else {
                room.noteRoom()
                tellOperator(&out)
                return .unneeded
            }
            if deadLetters.isWaitingForHome { return .noRoom }
            try deadLetters.makeDurable()
            pauses.lap(.deadLetters)
            let segment = log.segmentFirst
            first = try log.append(out.lines, count: out.count, cursor: cursor, now: now)
            pauses.lap(log.segmentFirst == segment ? .input : .segment)
        } catch {
            try room.note(error, at: monotonicNow())
            return .noRoom
        }
        room.noteRoom()
        try publish(&out, first, now)
        return .appended
    }

    /// Runs work that writes files beside the log. Returns false if the disk has no room; the caller then tries again
    /// later.
    func attempt(_ work: () throws(EventLogError) -> Void) throws -> Bool {
        guard room.mayTry(at: monotonicNow()) else { return false }
        do throws(EventLogError) { try work() } catch {
            try room.note(error, at: monotonicNow())
            return false
        }
        return true
    }

    private func publish(_ out: inout Outbox, _ first: UInt64, _ now: Instant) throws {
        if out.count > 0, sync != .always {
            try server.publish(first: first, count: out.count, now: now, body: out.lines)
        }
        eventsOut += UInt64(out.count)
        tellOperator(&out)
        out.removeEvents()
    }

    private func tellOperator(_ out: inout Outbox) {
        for line in out.takeOperatorLines() { StandardError.write("\(stage): \(line)") }
    }

    /// Shows consumers the batches that have become durable.
    ///
    /// - Throws: ``EventLogError`` if the log or the dead letters no longer accept batches, for example after a failed
    ///   `fdatasync`, or if the log's last segment was deleted. A stage without further input appends nothing, so only
    ///   this check notices such a failure.
    func revealDurable() throws {
        try log.check()
        try deadLetters.check()
        try lease?.check()
        noteUnstored()
        try checkSegment()
        if sync == .always { server.reveal(through: log.durableSequence) }
    }

    private static let segmentCheckInterval = Duration.seconds(1)

    /// Checks that nobody deleted the log's last segment, for example with the whole data folder.
    private func checkSegment() throws {
        let now = monotonicNow()
        guard now - segmentChecked >= StageOutlet.segmentCheckInterval else { return }
        segmentChecked = now
        try log.checkSegmentExists()
    }

    /// A function that forces to the disk all events that were appended to the log and to the dead letters before the
    /// call. It must be called before a snapshot of the state after these events is written, so that the snapshot is
    /// never ahead of the log. It can be called on any thread. With the sync policy `never` it does nothing.
    var flushing: @Sendable () throws -> Void {
        guard sync != .never else { return {} }
        return { [deadLetters = deadLetters.flushing, log = log.flushing] in
            try deadLetters?()
            try log()
        }
    }

    /// A function that ends every wait for the home of the logs. It can be called on any thread.
    var interruptingHome: @Sendable () -> Void { { [home] in home?.interrupt() } }

    /// Sets the callback for events that have become durable, in the log and in the dead letters.
    func onDurable(_ body: @escaping @Sendable () -> Void) {
        log.onDurable { _ in body() }
        deadLetters.onDurable = body
        lease?.onNews(body)
    }

    func close() throws {
        retention.finish()
        try log.flush()
        server.reveal(through: log.lastSequence)
        try log.close()
        try deadLetters.close()
    }
}

/// Rejected input with its reasons, in a log beside the stage's own.
///
/// Dead letters are appended before the batch whose cursor passes their input. Their own cursor is at the last rejected
/// event. After a crash between the two appends, the dead letters that are already in the log are not written again.
final class DeadLetters {
    private let plan: HostPlan
    private let identity: LogIdentity
    private let home: (any LogHome)?
    var onDurable: (@Sendable () -> Void)?
    private var writer: EventLogWriter?
    /// The upstream sequence of the last rejected event in the log of dead letters.
    private var lastRejected: UInt64 = 0
    private(set) var count: UInt64 = 0

    init(_ plan: HostPlan, identity: LogIdentity, _ home: (any LogHome)?) {
        (self.plan, self.identity, self.home) = (plan, identity, home)
    }

    /// Opens the log of an earlier run, so that its dead letters are not written twice.
    func recover(upstream: String) throws {
        guard plan.hasDeadLetters || home != nil else { return }
        let writer = try open()
        lastRejected = writer.cursor.positions[upstream] ?? 0
        count = writer.lastSequence
    }

    func append(_ rejected: [Outbox.Rejected], cursor: Cursor, now: Instant) throws(EventLogError) {
        let fresh = rejected.filter { $0.sequence > lastRejected }
        guard let last = fresh.last, let upstream = cursor.input?.log else { return }
        var lines = ByteBuffer()
        for letter in fresh { letter.write(ofStage: plan.stage, log: upstream, to: &lines) }
        let writer = try open()
        let time = max(now, writer.lastNow)
        _ = try writer.append(lines.bytes, count: fresh.count, cursor: Cursor([upstream: last.sequence]), now: time)
        lastRejected = max(lastRejected, last.sequence)
        count += UInt64(fresh.count)
    }

    var segmentsOnDisk: SegmentsOnDisk? { writer?.segmentsOnDisk }

    var flushing: (@Sendable () throws -> Void)? { writer?.flushing }

    /// Whether dead letters wait for the home of the logs.
    var isWaitingForHome: Bool {
        guard home != nil, let writer else { return false }
        return writer.durableSequence < writer.lastSequence
    }

    /// Under the sync policy `always`, waits until the dead letters are on the disk. Without this wait, a durable
    /// cursor could pass a dead letter that a power failure then loses.
    func makeDurable() throws(EventLogError) {
        guard let writer, writer.durableSequence < writer.lastSequence else { return }
        try writer.flush()
    }

    func check() throws { try writer?.check() }

    func close() throws { try writer?.close() }

    private func open() throws(EventLogError) -> EventLogWriter {
        if let writer { return writer }
        let opened = try EventLogWriter(plan.deadLetterOptions(beside: identity, in: home))
        if home != nil, let onDurable { opened.onDurable { _ in onDurable() } }
        writer = opened
        return opened
    }
}
