import Glibc
import Time

/// The one that appends to a log. Belongs to one thread; while it lives, no other writer can open the log.
///
/// What is appended survives the death of the process at any moment. Whether it survives the loss of power is up to
/// the log's ``SyncPolicy`` and told by ``durableSequence``.
@safe package final class EventLogWriter {
    package let name: String
    package let identity: LogIdentity
    /// The log's own folder.
    package let directory: String
    /// The sequence that the next event gets. The first of a log is 1.
    package var nextSequence: UInt64 { place.nextSequence }
    /// The `now` of the last batch; ``Instant/epoch`` in a new log.
    package var lastNow: Instant { place.lastNow }
    /// The fold of all batches' cursors.
    package var cursor: Cursor { place.cursor }
    /// What opening the log had to cut off; nil where it ended with a whole batch.
    package let recovery: Recovery?

    private let options: EventLogOptions
    private let write: FileCalls.Write
    private var lock: WriterLock?
    private let commit: GroupCommit
    private var segment: OpenFile
    /// The first sequence of the segment that is appended to.
    package var segmentFirst: UInt64 { place.segmentFirst }
    private var place: LogEnd
    private var failure: EventLogError?

    /// A batch that was not written to its end, as a crash in the middle of an append leaves it.
    package struct Recovery: Hashable, Sendable {
        package var file: String
        package var offset: UInt64
        package var bytesCut: UInt64
        package var reason: String
    }

    /// Opens a log, or makes it with its folders, and cuts off a torn last batch.
    ///
    /// Reads the last segment, not more; ``EventLogs/verify(directory:progress:)`` reads all.
    ///
    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)``;
    ///   ``EventLogError/damaged(file:offset:sequence:reason:)`` where bytes are wrong that were once written whole,
    ///   with nothing changed.
    package init(_ options: EventLogOptions) throws(EventLogError) {
        guard EventLogLimits.isValid(name: options.name) else { throw .invalidName(options.name) }
        let directory = LogDirectory(path: options.logDirectory, calls: options.calls)
        try directory.create(options.mode)
        lock = try WriterLock(options.name, directory)
        let manifest = try EventLogWriter.manifest(options, directory)
        let tail = try LogTail(directory, manifest.identity, options)
        self.options = options
        unsafe write = options.calls.write
        self.directory = directory.path
        (name, identity) = (manifest.name, manifest.identity)
        (segment, recovery, place) = (tail.file, tail.recovery, LogEnd(tail, manifest.identity))
        commit = GroupCommit(tail.file, sequence: tail.nextSequence - 1, policy: options.sync, calls: options.calls)
    }

    /// The last event's sequence; 0 in a log without events.
    package var lastSequence: UInt64 { nextSequence - 1 }

    /// The last sequence that the log's policy promises to keep.
    ///
    /// Under ``SyncPolicy/always`` that is what an `fdatasync` has covered: it survives the loss of power. Under the
    /// other two it is all that was appended: it survives `kill -9` of this process, but not the loss of power.
    package var durableSequence: UInt64 { commit.durableSequence }

    /// How many batches were appended since the log was opened.
    package var batches: UInt64 { commit.batches }

    /// How many of ``batches`` the log's policy promises to keep. A batch without events, which ``durableSequence`` does
    /// not tell of, counts as well: its cursor is worth keeping.
    package var durableBatches: UInt64 { commit.durableBatches }

    /// Calls back under ``SyncPolicy/always`` after each `fdatasync`, with the new ``durableSequence``, and under any
    /// policy after one that failed: ``check()`` throws from then on.
    ///
    /// Runs on the log's own queue, and delays the next `fdatasync` while it does. Replaces an earlier one.
    package func onDurable(_ body: @escaping @Sendable (UInt64) -> Void) {
        commit.onDurable(body)
    }

    /// Appends a batch in one step: after a crash all of it is there, or none is. Does not wait for the disk.
    ///
    /// - Parameters:
    ///   - body: `count` JSON objects, each ended by a line feed. Nothing, where only the cursor or `now` advance.
    ///   - cursor: The entries that this batch advances.
    ///   - now: Not earlier than ``lastNow``.
    /// - Returns: The sequence of the first event, or of the next where there is none.
    /// - Throws: ``EventLogError/full(file:bytesNeeded:errno:)``,
    ///   ``EventLogError/failed(operation:file:errno:)`` and ``EventLogError/tooLarge(_:bytes:bytesMax:)`` with
    ///   nothing appended and the log as it was; ``EventLogError/syncFailed(file:errno:)`` once and for all after an
    ///   `fdatasync` failed.
    package func append(
        _ body: UnsafeRawBufferPointer, count: Int, cursor advance: Cursor = Cursor(), now: Instant
    ) throws(EventLogError) -> UInt64 {
        try check()
        precondition(now >= lastNow, "a batch's now must not be earlier than the one before: \(now) < \(lastNow)")
        try unsafe EventLines.check(body, count: count)
        let batch = unsafe NewBatch(
            body: body, count: count, cursor: advance, cursorBytes: try advance.encoded(), now: now)
        try unsafe rollIfFull(batch.bytes)
        do { try unsafe place.write(batch, to: segment, write) } catch {
            cutBack()
            throw error
        }
        let next = place.nextSequence
        commit.written(through: next - 1)
        return next - UInt64(count)
    }

    /// Throws what keeps the log from taking any more, such as an `fdatasync` that has failed since the last append:
    /// ask now and then, or what waits to become durable waits for ever.
    package func check() throws(EventLogError) {
        precondition(lock != nil, "nothing is appended to a log that was closed")
        if let failure = failure ?? commit.failure { throw failure }
    }

    /// Throws where the log's file was taken away from under it: what is appended then is lost when the process ends.
    package func checkPlace() throws(EventLogError) {
        var status = stat()
        guard unsafe fstat(segment.descriptor, &status) == 0 else { throw .lastFailure("look at", segment.path) }
        if status.st_nlink == 0 { throw .failed(operation: "find", file: segment.path, errno: ENOENT) }
    }

    /// Waits until all that was appended has survived the loss of power, whatever the policy.
    package func flush() throws(EventLogError) {
        try check()
        try commit.flush()
    }

    /// The same as ``flush()``, for any thread, of what was appended by the time it is called.
    package var flushing: @Sendable () throws -> Void {
        { [commit] in try commit.flush() }
    }

    /// Flushes, unless the policy is ``SyncPolicy/never``, and frees the log for another writer, even where it throws.
    ///
    /// A writer that is released without it only frees the log.
    package func close() throws(EventLogError) {
        guard lock != nil else { return }
        defer { lock = nil }
        if options.sync != .never { try commit.flush() }
    }
}

extension EventLogWriter {
    private static func manifest(_ options: EventLogOptions, _ directory: LogDirectory) throws(EventLogError)
        -> LogManifest
    {
        if let manifest = try LogManifest.read(in: directory) {
            if manifest.name == options.name { return manifest }
            throw .damaged(
                file: directory.manifestPath, offset: 0, sequence: 1, reason: "this is log '\(manifest.name)'")
        }
        guard try directory.segments().isEmpty else { throw .withoutManifest(directory: directory.path) }
        let manifest = LogManifest(name: options.name, identity: options.identity ?? .random())
        try manifest.write(in: directory)
        return manifest
    }

    /// Where the log has come to in its last segment.
    var end: LastSegment { LastSegment(nextSequence: nextSequence, lastNow: lastNow, bytes: place.segmentBytes) }
    var calls: FileCalls { options.calls }

    /// Begins a new segment where a batch would make this one too large.
    private func rollIfFull(_ bytes: Int) throws(EventLogError) {
        guard place.isFull(for: bytes, bytesMax: options.segmentBytesMax) else { return }
        try commit.finish()
        let directory = LogDirectory(path: directory, calls: options.calls)
        let next = try directory.newSegment(nextSequence, bytesNeeded: bytes)
        do { try directory.synchronize() } catch {
            try withdraw(next)
            throw error
        }
        commit.move(to: next)
        segment = next
        place.beginSegment()
    }

    /// Takes a segment back that could not be begun: nothing may be added to the one before it while it is there.
    private func withdraw(_ next: OpenFile) throws(EventLogError) {
        guard uninterrupted({ unsafe options.calls.unlink(next.path) }) != 0 else { return }
        let error = EventLogError.lastFailure("remove", next.path)
        failure = error
        throw error
    }

    private func cutBack() {
        guard uninterrupted({ options.calls.truncate(segment.descriptor, off_t(place.segmentBytes)) }) != 0 else {
            return
        }
        failure = .lastFailure("cut back", segment.path)
    }
}

extension LogDirectory {
    fileprivate func newSegment(_ first: UInt64, bytesNeeded: Int) throws(EventLogError) -> OpenFile {
        do {
            return try OpenFile(segmentPath(first), O_RDWR | O_CREAT, calls: calls)
        } catch {
            throw error.orFull(bytesNeeded: bytesNeeded)
        }
    }
}

extension EventLogError {
    /// The same failure, named for what it is where there is no room.
    func orFull(bytesNeeded: Int) -> EventLogError {
        guard case .failed(_, let file, let code) = self, EventLogError.isLackOfRoom(code) else { return self }
        return .full(file: file, bytesNeeded: bytesNeeded, errno: code)
    }
}
