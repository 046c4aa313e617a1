import EventLog
import Glibc
import PipelineKit
import Synchronization
import Time

/// What a stage's state includes: the upstream events through ``position``, the events of its own log through
/// ``sequence``, and the time ``now`` of its clock.
struct SnapshotMoment: Hashable, Sendable {
    var position: UInt64
    var sequence: UInt64
    var now: Instant

    /// Where a rebuild begins to read the stage's own log: at the event ``sequence``. A reader that begins at the next
    /// event may begin in the next segment. It would then miss the batches between the two events. These batches have
    /// no events; they record wakes.
    var firstRead: UInt64 { max(sequence, 1) }
}

/// Makes and writes a stage's snapshots in the background, one at a time.
///
/// A failed snapshot only makes the next start slower. The operator is told of the first of several failures in a row.
/// The next snapshot is tried when it is due.
final class SnapshotFiles: Sendable {
    /// The limits for all snapshots of the stage together: see ``SnapshotStore/thin(bytesMax:countMax:)``. The limit in
    /// bytes is ``bytesMax`` or eight times the size of the newest snapshot, whichever is greater.
    static let bytesMax: UInt64 = 256 << 20
    static let countMax = 64

    private let fit: SnapshotFit
    private let upstreamName: String
    private let store: SnapshotStore
    private let name: String
    private let queue: any SyncQueue
    private let background: any SyncQueue
    private let share: Double?
    /// Keeps a snapshot in the log's home, too, and returns the names of all that the home keeps then. Nil without a
    /// home.
    private let keepInHome: (@Sendable (SnapshotFile) throws(EventLogError) -> Set<String>)?
    private let state = Mutex(State())

    private struct State {
        var isAtWork = false
        /// The number of the newest snapshot. Snapshots are numbered from 1 in the order in which they are begun.
        var newest = 0
        /// Snapshots up to this number are dropped if they are still being made.
        var lastDropped = 0
        /// Whether the next background snapshot is made without pauses.
        var isHurried = false
        var hasFailed = false
        var hasComplained = false
        /// Whether the stage is stopping, so that no further snapshot follows.
        var isEnding = false
        var newestBytes: UInt64 = 0
        var moments: [SnapshotMoment] = []
        /// The names of the snapshots that the log's home keeps. Nil without a home.
        var namesInHome: Set<String>?
        /// The moments of the snapshots that survive the loss of this machine, if the log has a home; else ``moments``.
        var momentsKept: [SnapshotMoment] = []
        var firstNeeded: UInt64 = 1

        /// - Returns: The number of the new snapshot.
        mutating func begin() -> Int {
            (isAtWork, newest) = (true, newest + 1)
            return newest
        }
    }

    /// - Parameter log: The stage's log, whose home keeps the snapshots, too; nil for no home.
    init(_ plan: HostPlan, _ fit: SnapshotFit, upstreamName: String, _ log: EventLogWriter? = nil) {
        (self.fit, self.upstreamName, keepInHome) = (fit, upstreamName, log?.keepingSnapshotsInHome)
        name = plan.stage
        store = plan.snapshots
        queue = plan.calls.makeQueue()
        background = plan.calls.makeBackgroundQueue()
        share = plan.calls.backgroundShare
        if let log, keepInHome != nil {
            state.withLock { $0.namesInHome = [] }
            attempt { () throws(EventLogError) in
                let names = try log.snapshotsInHome()
                state.withLock { $0.namesInHome = names }
            }
        }
        refresh(fit.lastSequence)
        keepNewest()
    }

    /// Keeps the newest snapshots in the log's home, too, if it lacks them: for example after its stream was removed.
    private func keepNewest() {
        guard let keepInHome else { return }
        queue.schedule(after: .zero) { [self] in
            attempt { () throws(EventLogError) in
                let fitting = try store.list().filter { $0.header.map { fit.objection(to: $0) == nil } ?? false }
                for file in fitting.suffix(SnapshotStore.newestKept) {
                    let known = state.withLock { $0.namesInHome ?? [] }
                    // The home keeps snapshots in the order in which it gets them, so no older one may follow.
                    guard file.name > known.max() ?? "" else { continue }
                    let names = try keepInHome(file)
                    state.withLock { $0.namesInHome = names }
                }
            }
            refresh(fit.lastSequence)
        }
    }

    var isAtWork: Bool { state.withLock { $0.isAtWork } }
    /// Whether the next snapshot may be made in the background. False after a background snapshot has failed, until a
    /// snapshot is made on the stage's own thread.
    var mayMakeInBackground: Bool { state.withLock { !$0.hasFailed } }
    var newestBytes: UInt64 { state.withLock { $0.newestBytes } }
    /// The snapshots that this stage can start from, oldest first.
    var moments: [SnapshotMoment] { state.withLock { $0.moments } }
    /// Those of ``moments`` that survive the loss of this machine, if the log has a home; else all of them.
    var momentsKept: [SnapshotMoment] { state.withLock { $0.momentsKept } }

    /// The first event of its own log that the stage may still read again, as last noted in this run. The stage will
    /// never need an earlier event.
    var firstNeeded: UInt64 { state.withLock { $0.firstNeeded } }

    func noteFirstNeeded(_ sequence: UInt64?) { state.withLock { $0.firstNeeded = sequence ?? .max } }

    /// - Parameter flush: Called before the snapshot is written, on another thread. It makes durable what the snapshot
    ///   depends on.
    func write(_ moment: SnapshotMoment, _ bytes: [UInt8], after flush: @escaping @Sendable () throws -> Void) {
        let number = state.withLock { state in
            state.hasFailed = false
            return state.begin()
        }
        writeLater(number, header(moment), bytes, DiskPace(), flush)
    }

    /// Makes a snapshot in the background, slowly, and writes it.
    ///
    /// - Parameters:
    ///   - flush: Makes durable what the snapshot depends on.
    ///   - make: Makes the snapshot. Must call `check` now and then, stop if it throws, and read files at the pace
    ///     `disk`.
    func make(
        _ moment: SnapshotMoment, after flush: @escaping @Sendable () throws -> Void,
        _ make: @escaping @Sendable (_ check: @escaping () throws -> Void, _ disk: DiskPace) throws -> MadeSnapshot
    ) {
        let (number, isHurried) = state.withLock { ($0.begin(), $0.isHurried) }
        background.schedule(after: .zero) { [self] in
            let share = isHurried ? nil : share
            let pace = share.map(Pace.init)
            let disk = DiskPace(share: share) { self.isDropped(number) }
            do {
                let check = {
                    try self.checkWanted(number)
                    pace?.rest()
                }
                let made = try make(check, disk)
                noteFirstNeeded(made.firstNeeded)
                writeLater(number, header(moment), SnapshotFiles.bytes(made), disk, flush)
            } catch { giveUp(number, error) }
        }
    }

    /// Drops the snapshot that is being made. The next snapshot is made without pauses.
    func dropAndHurryNext() { state.withLock { ($0.lastDropped, $0.isHurried) = ($0.newest, true) } }

    /// Drops the snapshot that is being made, without waiting for it. The dropped snapshot is not written.
    func stopMaking() { state.withLock { $0.lastDropped = $0.newest } }

    func wait() { queue.runAndWait {} }

    /// Notes that the stage is stopping.
    func noteEnd() { state.withLock { $0.isEnding = true } }

    func remove(where isUseless: @escaping @Sendable (SnapshotMoment) -> Bool) {
        guard moments.contains(where: isUseless) else { return }
        queue.schedule(after: .zero) { [self] in
            attempt { () throws(EventLogError) in
                try store.remove { $0.header.map { isUseless(SnapshotMoment($0)) } ?? false }
            }
            refresh(.max)
        }
    }

    private static func bytes(_ made: consuming MadeSnapshot) -> [UInt8] { Array(made.state.buffer.bytes) }

    private func writeLater(
        _ number: Int, _ header: SnapshotHeader, _ bytes: [UInt8], _ disk: DiskPace,
        _ flush: @escaping @Sendable () throws -> Void
    ) {
        queue.schedule(after: .zero) { [self] in
            do {
                try checkWanted(number)
                try flush()
                bytes.withUnsafeBytes { writeNow(header, $0, disk) }
                state.withLock { ($0.isAtWork, $0.isHurried) = (false, false) }
            } catch { giveUp(number, error) }
        }
    }

    private func giveUp(_ number: Int, _ error: any Error) {
        let isFailure = !(error is CancellationError)
        state.withLock { state in
            if number == state.newest { state.isAtWork = false }
            state.hasFailed = state.hasFailed || isFailure
        }
        guard isFailure else { return }
        let effect =
            state.withLock { $0.isEnding }
            ? "the next start takes longer" : "the next one is made on the stage's own thread, which pauses meanwhile"
        complain("\(error); \(effect)")
    }

    private func isDropped(_ number: Int) -> Bool { state.withLock { number <= $0.lastDropped } }

    private func checkWanted(_ number: Int) throws {
        if isDropped(number) { throw CancellationError() }
    }

    private func writeNow(_ header: SnapshotHeader, _ state: UnsafeRawBufferPointer, _ disk: DiskPace) {
        var store = store
        store.pace = disk
        attempt { () throws(EventLogError) in
            let file = try store.write(header, state: state)
            if let names = try keepInHome?(file) { self.state.withLock { $0.namesInHome = names } }
            try store.thin(bytesMax: max(SnapshotFiles.bytesMax, 8 * file.bytes), countMax: SnapshotFiles.countMax)
        }
        refresh(header.sequence)
    }

    private func header(_ moment: SnapshotMoment) -> SnapshotHeader {
        SnapshotHeader(
            stage: fit.stage, version: fit.version, log: fit.log, upstream: fit.upstream,
            cursor: Cursor([upstreamName: moment.position]), sequence: moment.sequence, now: moment.now)
    }

    private func refresh(_ lastSequence: UInt64) {
        var fit = fit
        fit.lastSequence = lastSequence
        attempt { () throws(EventLogError) in
            let files = try store.list().filter { $0.header.map { fit.objection(to: $0) == nil } ?? false }
            state.withLock { state in
                state.moments = files.compactMap { $0.header.map(SnapshotMoment.init) }
                let names = state.namesInHome
                state.momentsKept = files.filter { names?.contains($0.name) ?? true }.compactMap {
                    $0.header.map(SnapshotMoment.init)
                }
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

/// Limits background work to a share of one processor. Belongs to the working thread.
private final class Pace {
    private let share: Double
    /// The thread's processor time after the last rest.
    private var used = PauseMeter.processorTime

    /// The processor time that the thread uses between two rests: so short that other threads do not wait long, and so
    /// long that the rests themselves cost little.
    private static let workMin = Duration.microseconds(500)

    init(_ share: Double) { self.share = share }

    /// Sleeps, if enough work was done since the last rest.
    func rest() {
        let worked = PauseMeter.processorTime - used
        guard worked >= Pace.workMin else { return }
        usleep(UInt32(worked / .microseconds(1) * (1 / share - 1)))
        used = PauseMeter.processorTime
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
        // With `sync: never`, a power cut may lose the log's events anyway, so snapshots need no sync either. A
        // snapshot's CRC reveals a torn file.
        if sync == .never { store.calls.sync = { _ in 0 } }
        return store
    }
}
