import Dispatch
import Glibc
import Synchronization
import Time

/// Finds the events of a log by their keys without reading the whole log.
///
/// The index is a cache in files beside the log. The files may be deleted. ``update(progress:)`` rebuilds parts that
/// are missing, damaged, outdated or of another log. If the files cannot be written, the index stays in memory. Events
/// that are appended after an update are only found after the next update.
///
/// An index belongs to one thread at a time. See ``IndexFormat`` for the files.
@safe package final class LogIndex {
    package struct Progress: Hashable, Sendable {
        /// Bytes of the log that are in the index.
        package var bytesDone: UInt64
        /// The log's size.
        package var bytes: UInt64

        package init(bytesDone: UInt64, bytes: UInt64) {
            self.bytesDone = bytesDone
            self.bytes = bytes
        }
    }

    /// The log's own folder.
    package var directory: String { source.log.path }
    let source: SegmentIndex.Source
    let extract: KeyScheme.Extractor
    private(set) var segments: [SegmentIndex] = []
    private let limits: BlockLimits

    /// Makes an index that has read no events yet. Call ``update(progress:)`` next.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - usesFiles: False ignores the index files and makes an index in memory.
    /// - Throws: ``EventLogError/notALog(directory:)``, and other errors of reading `log.json`.
    package init(
        directory: String, scheme: KeyScheme, usesFiles: Bool = true, limits: BlockLimits = BlockLimits()
    ) throws(EventLogError) {
        let log = LogDirectory(path: directory)
        source = SegmentIndex.Source(
            log: log, identity: try LogManifest.required(in: log).identity, scheme: scheme, usesFiles: usesFiles)
        unsafe extract = scheme.makeExtractor()
        self.limits = limits
    }

    /// The sequence of the log's oldest event at the most recent update.
    package var firstSequence: UInt64 { segments.first?.first ?? 1 }
    /// The sequence of the log's last event at the most recent update. One less than ``firstSequence`` if the log had
    /// no events.
    package var lastSequence: UInt64 { (segments.last?.nextSequence ?? 1) - 1 }

    /// Indexes the events that were appended since the previous update. Two threads read segments in parallel.
    ///
    /// - Parameter progress: Called from any thread, one call at a time.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` if the log is damaged.
    package func update(progress: @escaping @Sendable (Progress) -> Void = { _ in }) throws(EventLogError) {
        let firsts = try source.log.segments()
        if source.usesFiles { prepareFolder(keeping: firsts) }
        let known = Dictionary(uniqueKeysWithValues: segments.map { ($0.first, $0) })
        segments = []
        let indexes = firsts.map { known[$0] ?? SegmentIndex(header(ofSegment: $0)) }
        var bytes: UInt64 = 0
        for first in firsts { bytes += try OpenFile.ifPresent(source.log.segmentPath(first))?.size() ?? 0 }
        let work = UpdateWork(indexes, source, bytes: bytes, progress)
        DispatchQueue.concurrentPerform(iterations: min(2, firsts.count)) { _ in work.run() }
        segments = try work.result()
    }

    private func header(ofSegment first: UInt64) -> IndexHeader {
        IndexHeader(identity: source.identity, scheme: source.scheme.digest, segment: first, limits: limits)
    }

    /// Makes the folder, and removes files whose segments are gone. Errors only cost time or disk space.
    private func prepareFolder(keeping firsts: [UInt64]) {
        let folder = "\(directory)/\(IndexFormat.folder)"
        _ = DataMode(of: directory).makeFolder(folder)
        let kept = Set(firsts.map(source.indexPath))
        do throws(EventLogError) {
            for name in try LogDirectory.entries(of: folder) where name.hasSuffix(".index") {
                if !kept.contains("\(folder)/\(name)") { unsafe unlink("\(folder)/\(name)") }
            }
        } catch {
            return
        }
    }

    /// Removes a damaged index file. The next ``LogIndex`` of this log makes the file again when it is updated.
    func discardIndexFile(ofSegment first: UInt64) {
        if source.usesFiles { unsafe unlink(source.indexPath(first)) }
    }
}

/// The segments of an update, shared by its threads.
private final class UpdateWork: Sendable {
    private struct State {
        var next = 0
        var done: [Int: SegmentIndex] = [:]
        /// The position of the last segment that no longer exists; -1 if all exist.
        var gone = -1
        var failure: EventLogError?
        var progress: LogIndex.Progress
    }

    private let indexes: [SegmentIndex]
    private let source: SegmentIndex.Source
    private let progress: @Sendable (LogIndex.Progress) -> Void
    private let state: Mutex<State>

    init(
        _ indexes: [SegmentIndex], _ source: SegmentIndex.Source, bytes: UInt64,
        _ progress: @escaping @Sendable (LogIndex.Progress) -> Void
    ) {
        self.indexes = indexes
        self.source = source
        self.progress = progress
        state = Mutex(State(progress: LogIndex.Progress(bytesDone: 0, bytes: bytes)))
    }

    func run() {
        while let position = nextPosition() {
            var index = indexes[position]
            do throws(EventLogError) {
                try index.update(source, isLast: position == indexes.count - 1, progress: report)
                state.withLock { $0.done[position] = index }
            } catch .failed(_, _, ENOENT) {
                // Retention removed the oldest segments.
                state.withLock { $0.gone = max($0.gone, position) }
            } catch {
                state.withLock { $0.failure = $0.failure ?? error }
            }
        }
    }

    func result() throws(EventLogError) -> [SegmentIndex] {
        let (done, gone, failure) = state.withLock { ($0.done, $0.gone, $0.failure) }
        if let failure { throw failure }
        let segments = done.filter { $0.key > gone }.sorted { $0.key < $1.key }.map(\.value)
        for (segment, next) in zip(segments, segments.dropFirst()) where segment.nextSequence != next.first {
            let reason =
                "the next segment begins with sequence \(next.first): \(segment.nextSequence) to \(next.first - 1) "
                + "are missing"
            throw EventLogError.damaged(
                file: source.log.segmentPath(segment.first), offset: segment.end, sequence: segment.nextSequence,
                reason: reason)
        }
        return segments
    }

    private func nextPosition() -> Int? {
        state.withLock { state in
            guard state.failure == nil, state.next < indexes.count else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    private func report(_ bytes: UInt64) {
        state.withLock { state in
            state.progress.bytesDone += bytes
            progress(state.progress)
        }
    }
}
