import Glibc
import Time

/// The last segment of a log that is opened for writing. A torn batch at its end is already cut off.
struct OpenedSegment {
    let file: OpenFile
    let first: UInt64
    let bytes: UInt64
    let recovery: EventLogWriter.Recovery?
    let state: State

    /// The log's state after its last batch.
    struct State {
        var nextSequence: UInt64
        var lastNow: Instant
        var cursor: Cursor
    }

    init(_ directory: LogDirectory, _ identity: LogIdentity, _ options: EventLogOptions) throws(EventLogError) {
        var segments = try directory.segments()
        first = segments.popLast() ?? 1
        file = try OpenFile(directory.segmentPath(first), O_RDWR | O_CREAT, calls: directory.calls)
        let reader = SegmentReader(file, first: first, identity: identity)
        let (last, torn) = try OpenedSegment.read(reader)
        bytes = reader.offset
        state = bytes > 0 ? last : try OpenedSegment.stateBefore(reader, directory, segments.last, identity)
        recovery = try OpenedSegment.cut(file, at: bytes, torn, options.calls)
        if options.sync == .never { return }
        try directory.synchronize()
        try OpenedSegment.synchronize(file, options.calls)
    }

    /// Reads a segment to its end, or to a torn batch.
    private static func read(_ reader: SegmentReader) throws(EventLogError) -> (State, torn: String?) {
        var state = State(nextSequence: reader.first, lastNow: .epoch, cursor: Cursor())
        while true {
            switch try unsafe reader.peek() {
            case .end: return (state, nil)
            case .unfinished(let reason): return (state, reason)
            case .batch(let batch):
                unsafe reader.consume(batch)
                unsafe state.cursor.fold(batch.header.cursor)
                (state.nextSequence, state.lastNow) = (reader.nextSequence, reader.lastNow)
            }
        }
    }

    /// The log's state before a segment that has no opening, because it is new or its first write was interrupted.
    private static func stateBefore(
        _ reader: SegmentReader, _ directory: LogDirectory, _ previous: UInt64?, _ identity: LogIdentity
    ) throws(EventLogError) -> State {
        guard let previous else {
            guard reader.first == 1 else { throw reader.damaged("the segment before this one is missing") }
            return State(nextSequence: 1, lastNow: .epoch, cursor: Cursor())
        }
        let before = try SegmentReader(directory, previous, identity)
        let (state, torn) = try read(before)
        if let torn { throw before.damaged("\(torn), in a segment that is not the last") }
        guard state.nextSequence == reader.first else { throw before.damaged(before.gap(to: reader.first)) }
        return state
    }

    private static func cut(_ file: OpenFile, at bytes: UInt64, _ reason: String?, _ calls: FileCalls)
        throws(EventLogError) -> EventLogWriter.Recovery?
    {
        guard let reason else { return nil }
        let size = try file.size()
        guard uninterrupted({ calls.truncate(file.descriptor, off_t(bytes)) }) == 0 else {
            throw .lastFailure("cut back", file.path)
        }
        return EventLogWriter.Recovery(file: file.path, offset: bytes, bytesCut: size - bytes, reason: reason)
    }

    private static func synchronize(_ file: OpenFile, _ calls: FileCalls) throws(EventLogError) {
        guard uninterrupted({ calls.sync(file.descriptor) }) == 0 else {
            throw .syncFailed(file: file.path, errno: errno)
        }
    }
}
