import EventLog
import Glibc
import PipelineKit
import Synchronization
import Time

/// Which snapshots a stage may take over, as far as is known before its log is looked at.
struct SnapshotForm: Sendable {
    var stage: String
    var version: Int
    var log: LogIdentity
    var upstream: LogIdentity
    var upstreamName: String

    func fit(lastSequence: UInt64) -> SnapshotFit {
        SnapshotFit(stage: stage, version: version, log: log, upstream: upstream, lastSequence: lastSequence)
    }

    func header(_ moment: SnapshotMoment) -> SnapshotHeader {
        SnapshotHeader(
            stage: stage, version: version, log: log, upstream: upstream,
            cursor: Cursor([upstreamName: moment.position]), sequence: moment.sequence, now: moment.now)
    }
}

/// Where a state stands: what it includes of the upstream's log, the last sequence of its own, and its clock.
struct SnapshotMoment: Hashable, Sendable {
    var position: UInt64
    var sequence: UInt64
    var now: Instant

    /// Where reading the stage's own log begins. Wakes that came after it may stand before the next event: in the
    /// segment of the last one before, where that was full by then.
    var firstRead: UInt64 { max(sequence, 1) }
}

/// Makes and writes a stage's snapshots behind its back, one at a time.
///
/// One that cannot be made or written costs nothing but time at the next start. It is said once, and another is tried when
/// it is due.
final class SnapshotFiles: Sendable {
    /// What older snapshots may take up, beside the newest ones: see ``SnapshotStore/thin(bytesMax:countMax:)``.
    static let bytesMax: UInt64 = 256 << 20
    static let countMax = 64

    let form: SnapshotForm
    private let store: SnapshotStore
    private let name: String
    /// Where files are written and removed.
    private let queue: any SyncQueue
    /// Where they are made.
    private let background: any SyncQueue
    private let share: Double?
    private let state = Mutex(State())

    private struct State {
        var isAtWork = false
        /// Whether the one that is being made is for nothing.
        var isUnwanted = false
        var isHurried = false
        /// Whether the last one could not be made.
        var hasFailed = false
        var hasComplained = false
        var newestBytes: UInt64 = 0
        var moments: [SnapshotMoment] = []
    }

    /// - Parameter lastSequence: The log's; what was taken beyond it is none of its past.
    init(_ plan: HostPlan, _ form: SnapshotForm, lastSequence: UInt64) {
        self.form = form
        name = plan.stage
        store = plan.snapshots
        queue = plan.calls.makeQueue()
        background = plan.calls.makeBackgroundQueue()
        share = plan.calls.backgroundShare
        refresh(lastSequence)
    }

    /// Whether one is being made or written.
    var isAtWork: Bool { state.withLock { $0.isAtWork } }
    /// Whether the next may be made beside the stage: not after one that could not.
    var mayMake: Bool { state.withLock { !$0.hasFailed } }
    /// How large the last one was.
    var newestBytes: UInt64 { state.withLock { $0.newestBytes } }
    /// Those that this stage can start from, oldest first.
    var moments: [SnapshotMoment] { state.withLock { $0.moments } }

    /// - Parameter flush: Makes durable what must be before the snapshot is; done beside the stage.
    func write(_ moment: SnapshotMoment, _ bytes: [UInt8], after flush: @escaping @Sendable () throws -> Void) {
        state.withLock { ($0.isAtWork, $0.isUnwanted, $0.hasFailed) = (true, false, false) }
        writeLater(form.header(moment), bytes, DiskPace(), flush)
    }

    /// Makes the state for one beside the stage, a little at a time, and writes it.
    ///
    /// - Parameters:
    ///   - flush: Makes durable what must be before the snapshot is.
    ///   - make: Calls `check` now and then, ends when that throws, and reads at the pace `disk`.
    func make(
        _ moment: SnapshotMoment, after flush: @escaping @Sendable () throws -> Void,
        _ make: @escaping @Sendable (_ check: @escaping () throws -> Void, _ disk: DiskPace) throws -> SnapshotWriter
    ) {
        let isHurried = state.withLock { state in
            (state.isAtWork, state.isUnwanted) = (true, false)
            return state.isHurried
        }
        background.later(after: .zero) { [self] in
            let share = isHurried ? nil : share
            let pace = share.map(Pace.init)
            let disk = DiskPace(share: share) { self.state.withLock(\.isUnwanted) }
            do {
                let check = {
                    try self.checkWanted()
                    pace?.rest()
                }
                let writer = try make(check, disk)
                writeLater(form.header(moment), SnapshotFiles.bytes(writer), disk, flush)
            } catch { giveUp(error) }
        }
    }

    /// Gives up the one that is being made; the next is made without a pause.
    func hurry() { state.withLock { ($0.isUnwanted, $0.isHurried) = (true, true) } }

    /// Gives up the one that is being made. Does not wait for it: from now on it writes nothing.
    func stopMaking() { state.withLock { $0.isUnwanted = true } }

    /// Returns when nothing is being written.
    func wait() { queue.now {} }

    func remove(where isUseless: @escaping @Sendable (SnapshotMoment) -> Bool) {
        guard moments.contains(where: isUseless) else { return }
        queue.later(after: .zero) { [self] in
            attempt { () throws(EventLogError) in
                try store.remove { $0.header.map { isUseless(SnapshotMoment($0)) } ?? false }
            }
            refresh(.max)
        }
    }

    private static func bytes(_ writer: consuming SnapshotWriter) -> [UInt8] {
        defer { withExtendedLifetime(writer) {} }
        return Array(writer.buffer.bytes)
    }

    private func writeLater(
        _ header: SnapshotHeader, _ bytes: [UInt8], _ disk: DiskPace, _ flush: @escaping @Sendable () throws -> Void
    ) {
        queue.later(after: .zero) { [self] in
            do {
                try checkWanted()
                try flush()
                bytes.withUnsafeBytes { writeNow(header, $0, disk) }
                state.withLock { ($0.isAtWork, $0.isHurried) = (false, false) }
            } catch { giveUp(error) }
        }
    }

    private func giveUp(_ error: any Error) {
        let isFailure = !(error is CancellationError)
        state.withLock { ($0.isAtWork, $0.hasFailed) = (false, $0.hasFailed || isFailure) }
        if isFailure { complain("it cannot be made beside the stage, which writes the next itself: \(error)") }
    }

    private func checkWanted() throws {
        if state.withLock(\.isUnwanted) { throw CancellationError() }
    }

    private func writeNow(_ header: SnapshotHeader, _ state: UnsafeRawBufferPointer, _ disk: DiskPace) {
        var store = store
        store.pace = disk
        attempt { () throws(EventLogError) in
            let file = try store.write(header, state: state)
            try store.thin(bytesMax: max(SnapshotFiles.bytesMax, 8 * file.bytes), countMax: SnapshotFiles.countMax)
        }
        refresh(header.sequence)
    }

    private func refresh(_ lastSequence: UInt64) {
        let fit = form.fit(lastSequence: lastSequence)
        attempt { () throws(EventLogError) in
            let files = try store.list().filter { $0.header.map { fit.objection(to: $0) == nil } ?? false }
            state.withLock { state in
                state.moments = files.compactMap { $0.header.map(SnapshotMoment.init) }
                state.newestBytes = files.last?.bytes ?? 0
            }
        }
    }

    private func attempt(_ body: () throws(EventLogError) -> Void) {
        do throws(EventLogError) {
            try body()
            state.withLock { $0.hasComplained = false }
        } catch { complain("\(error)") }
    }

    private func complain(_ reason: String) {
        let isNew = state.withLock { state in
            defer { state.hasComplained = true }
            return !state.hasComplained
        }
        if isNew { StandardError.write("\(name): no snapshot for now: \(reason)") }
    }
}

/// Keeps work down to a share of one processor. Belongs to the thread that works.
private final class Pace {
    private let share: Double
    /// What the thread had used by the end of the last rest.
    private var used = Pace.used

    /// Short enough that nobody waits for long, long enough that to ask for the time costs nothing.
    private static let workMin = 500_000

    init(_ share: Double) { self.share = share }

    /// Sleeps where enough was done since the last time.
    func rest() {
        let worked = Pace.used - used
        guard worked >= Pace.workMin else { return }
        usleep(UInt32(Double(worked) / 1_000 * (1 / share - 1)))
        used = Pace.used
    }

    /// Of the calling thread, in nanoseconds.
    private static var used: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

extension SnapshotMoment {
    init(_ header: SnapshotHeader) {
        self.init(position: header.position, sequence: header.sequence, now: header.now)
    }
}

extension HostPlan {
    var snapshots: SnapshotStore {
        var store = SnapshotStore(logDirectory: logDirectory)
        store.calls = calls
        store.removesDamaged = true
        // Without a promise to survive the loss of power there is nothing to wait for: CRCs find what it tore.
        if sync == .never { store.calls.sync = { _ in 0 } }
        return store
    }
}
