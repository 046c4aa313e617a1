import Dispatch
import Glibc
import Synchronization
import Time

/// Finds the events of a log by their keys, without reading all of it: a cache beside the log that can be thrown away.
///
/// It never answers wrongly: what is missing, damaged, another log's, or older than the log, is made anew from the log
/// by ``update(progress:)``. Where the log's folder cannot be written to, the index lives in memory. What a writer
/// appends after an update is not found until the next.
///
/// Belongs to one thread at a time. See ``IndexFormat`` for the files.
@safe package final class LogIndex {
    package struct Progress: Hashable, Sendable {
        /// Bytes of the log that are in the index, and that are to be.
        package var bytesDone: UInt64
        package var bytes: UInt64

        package init(bytesDone: UInt64, bytes: UInt64) {
            self.bytesDone = bytesDone
            self.bytes = bytes
        }
    }

    /// The log's own folder.
    package let directory: String
    let log: LogDirectory
    let identity: LogIdentity
    let scheme: KeyScheme
    let extract: KeyScheme.Extractor
    private(set) var segments: [SegmentIndex] = []
    private let limits: BlockLimits
    private let usesFiles: Bool

    /// Reads nothing yet: ``update(progress:)`` does.
    ///
    /// - Parameters:
    ///   - directory: The log's own folder.
    ///   - usesFiles: False leaves the files of the index alone and makes one in memory, from the whole log.
    /// - Throws: ``EventLogError/notALog(directory:)``.
    package convenience init(directory: String, scheme: KeyScheme, usesFiles: Bool = true) throws(EventLogError) {
        try self.init(directory: directory, scheme: scheme, usesFiles: usesFiles, limits: BlockLimits())
    }

    package init(directory: String, scheme: KeyScheme, usesFiles: Bool = true, limits: BlockLimits)
        throws(EventLogError)
    {
        log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        self.directory = directory
        identity = manifest.identity
        self.scheme = scheme
        unsafe extract = scheme.makeExtractor()
        self.usesFiles = usesFiles
        self.limits = limits
    }

    /// The oldest event that the log held at the last update.
    package var firstSequence: UInt64 { segments.first?.first ?? 1 }
    /// The last event at the last update; one less than ``firstSequence`` where there was none.
    package var lastSequence: UInt64 { (segments.last?.nextSequence ?? 1) - 1 }

    /// Brings the index up to the log's end, by reading what is new. Two segments are read at a time.
    ///
    /// - Parameter progress: Called from any thread, one call at a time.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` where the log is.
    package func update(progress: @escaping @Sendable (Progress) -> Void = { _ in }) throws(EventLogError) {
        let names = try log.segments()
        let place = SegmentIndex.Place(log: log, identity: identity, scheme: scheme, usesFiles: usesFiles)
        if usesFiles { prepareFolder(keeping: names, place) }
        let known = Dictionary(uniqueKeysWithValues: segments.map { ($0.first, $0) })
        segments = []
        let indexes = names.map { known[$0] ?? SegmentIndex(header(ofSegment: $0)) }
        let work = UpdateWork(indexes, place, bytes: try bytes(of: names), progress)
        DispatchQueue.concurrentPerform(iterations: min(2, names.count)) { _ in work.run() }
        segments = try work.result()
    }

    func header(ofSegment first: UInt64) -> IndexHeader {
        IndexHeader(identity: identity, scheme: scheme.mark, segment: first, limits: limits)
    }

    private func bytes(of names: [UInt64]) throws(EventLogError) -> UInt64 {
        var bytes: UInt64 = 0
        for first in names { bytes += try OpenFile.ifPresent(log.segmentPath(first))?.size() ?? 0 }
        return bytes
    }

    /// Makes the folder, and removes files whose segments are gone. What fails here costs no more than time or room.
    private func prepareFolder(keeping names: [UInt64], _ place: SegmentIndex.Place) {
        let folder = "\(directory)/\(IndexFormat.folder)"
        _ = DataMode(of: directory).makeFolder(folder)
        let kept = Set(names.map(place.indexPath))
        do throws(EventLogError) {
            for name in try LogDirectory.entries(of: folder) where name.hasSuffix(".index") {
                if !kept.contains("\(folder)/\(name)") { unsafe unlink("\(folder)/\(name)") }
            }
        } catch {
            return
        }
    }

    /// Makes a damaged file go away, so that the next update makes it anew.
    func discardFile(ofSegment first: UInt64) {
        guard usesFiles else { return }
        unsafe unlink(
            SegmentIndex.Place(log: log, identity: identity, scheme: scheme, usesFiles: true).indexPath(first))
    }
}

/// Segments to be indexed, taken by the threads that do it, the first ones first.
private final class UpdateWork: Sendable {
    private struct State {
        var next = 0
        var done: [Int: SegmentIndex] = [:]
        /// The last segment that is not there any more.
        var gone = -1
        var failure: EventLogError?
        var progress: LogIndex.Progress
    }

    private let indexes: [SegmentIndex]
    private let place: SegmentIndex.Place
    private let progress: @Sendable (LogIndex.Progress) -> Void
    private let state: Mutex<State>

    init(
        _ indexes: [SegmentIndex], _ place: SegmentIndex.Place, bytes: UInt64,
        _ progress: @escaping @Sendable (LogIndex.Progress) -> Void
    ) {
        self.indexes = indexes
        self.place = place
        self.progress = progress
        state = Mutex(State(progress: LogIndex.Progress(bytesDone: 0, bytes: bytes)))
    }

    func run() {
        while let position = take() {
            var index = indexes[position]
            do throws(EventLogError) {
                try index.update(place, isLast: position == indexes.count - 1, progress: report)
                state.withLock { $0.done[position] = index }
            } catch .failed(_, _, ENOENT) {
                // Retention took the oldest segments away.
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
            throw EventLogError.damaged(
                file: place.log.segmentPath(segment.first), offset: segment.end, sequence: segment.nextSequence,
                reason:
                    "the next segment begins with sequence \(next.first): \(segment.nextSequence) to \(next.first - 1) are missing"
            )
        }
        return segments
    }

    private func take() -> Int? {
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
