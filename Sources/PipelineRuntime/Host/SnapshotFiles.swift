import EventLog
import PipelineKit
import Synchronization

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

/// Writes a stage's snapshots behind its back: check sums, bytes and waiting for the disk, one at a time.
///
/// One that cannot be written costs nothing but time at the next start. It is said once, and another is tried when it
/// is due.
final class SnapshotFiles: Sendable {
    /// What older snapshots may take up, beside the newest ones: see ``SnapshotStore/thin(bytesMax:countMax:)``.
    static let bytesMax: UInt64 = 256 << 20
    static let countMax = 64

    let form: SnapshotForm
    private let store: SnapshotStore
    private let name: String
    private let queue: any SyncQueue
    private let state = Mutex(State())

    private struct State {
        var isWriting = false
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
        refresh(lastSequence)
    }

    var isWriting: Bool { state.withLock { $0.isWriting } }
    /// How large the last one was.
    var newestBytes: UInt64 { state.withLock { $0.newestBytes } }
    /// Those that this stage can start from, oldest first.
    var moments: [SnapshotMoment] { state.withLock { $0.moments } }

    func write(_ moment: SnapshotMoment, _ bytes: [UInt8]) {
        state.withLock { $0.isWriting = true }
        queue.later(after: .zero) { [self] in
            writeNow(form.header(moment), bytes)
            state.withLock { $0.isWriting = false }
        }
    }

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

    private func writeNow(_ header: SnapshotHeader, _ bytes: [UInt8]) {
        attempt { () throws(EventLogError) in
            let file = try SnapshotFiles.write(bytes, header, store)
            try store.thin(bytesMax: max(SnapshotFiles.bytesMax, 8 * file.bytes), countMax: SnapshotFiles.countMax)
        }
        refresh(header.sequence)
    }

    private static func write(_ bytes: [UInt8], _ header: SnapshotHeader, _ store: SnapshotStore)
        throws(EventLogError) -> SnapshotFile
    {
        let result = bytes.withUnsafeBytes { state -> Result<SnapshotFile, EventLogError> in
            do throws(EventLogError) { return .success(try store.write(header, state: state)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
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
        } catch {
            let isNew = state.withLock { state in
                defer { state.hasComplained = true }
                return !state.hasComplained
            }
            if isNew { StandardError.write("\(name): no snapshot for now: \(error)") }
        }
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
