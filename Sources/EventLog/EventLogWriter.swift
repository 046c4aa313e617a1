import Glibc
import Time

/// Appends to a log. A writer belongs to one thread. No other writer can open the log at the same time.
///
/// Appended events survive a crash of the process at any moment. Whether they survive a power failure depends on the
/// log's ``SyncPolicy``: see ``durableSequence``.
@safe package final class EventLogWriter {
    package let name: String
    package let identity: LogIdentity
    /// The log's own folder.
    package let directory: String
    /// The sequence of the next event. A log's first event is 1.
    package var nextSequence: UInt64 { logEnd.nextSequence }
    /// The `now` of the last batch; ``Instant/epoch`` in a new log.
    package var lastNow: Instant { logEnd.lastNow }
    /// The log's cursor after the last batch.
    package var cursor: Cursor { logEnd.cursor }
    /// What was cut off when the log was opened: a torn batch, or batches that the log's home does not have. Nil if
    /// nothing was.
    package internal(set) var recovery: Recovery?
    /// Whether another host has written to the log since this folder was last used, or this host with another folder.
    /// Always false without a home.
    package internal(set) var continuesAnotherHost = false

    /// The position in the log's home of the message with which this writer took the log over; 0 without a home.
    package internal(set) var ownerPosition: UInt64 = 0

    let options: EventLogOptions
    private let write: FileCalls.Write
    private var lock: WriterLock?
    /// Nil without a home.
    let home: (any HomeLog)?
    var commit: GroupCommit
    var segment: OpenFile
    /// The first sequence of the last segment.
    package var segmentFirst: UInt64 { logEnd.segmentFirst }
    var logEnd: LogEnd
    private var failure: EventLogError?
    private var appended: ((AppendedBatch) -> Void)?

    /// Bytes that were cut off. A crash during an append can leave a torn batch. A crash before the log's home has
    /// stored a batch can leave a batch that nobody may read.
    package struct Recovery: Hashable, Sendable {
        package var file: String
        package var offset: UInt64
        package var bytesCut: UInt64
        package var reason: String

        /// What was cut off, for the operator.
        package var text: String {
            "cut off \(bytesCut) bytes of \(file) from byte \(offset) on: \(reason)"
        }
    }

    /// Opens a log, or makes it with its folders, and cuts off a torn last batch.
    ///
    /// Reads only the last segment, or the last two if the last one has no batch yet. If the log has a home, takes the
    /// log over there, and makes the local files equal to the home's log.
    ///
    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)``; ``EventLogError/invalidName(_:)``;
    ///   ``EventLogError/damaged(file:offset:sequence:reason:)``; ``EventLogError/withoutManifest(directory:)``;
    ///   ``EventLogError/unsupportedFormat(file:version:)``; ``EventLogError/home(log:reason:)``;
    ///   ``EventLogError/unusableHome(log:reason:)``; ``EventLogError/replaced(log:reason:)`` if
    ///   ``EventLogOptions/endInHome`` was not the end; errors of system calls. None of these errors changes an event.
    package convenience init(_ options: EventLogOptions) throws(EventLogError) {
        try self.init(following: options)
        if let home {
            commit = try takeOver(home)
        } else {
            try HomeNote.noteAbsence(in: directory, calls: options.calls)
        }
    }

    /// Opens the local files, and does not take the log over in its home.
    init(following options: EventLogOptions) throws(EventLogError) {
        guard EventLogLimits.isValid(name: options.name) else { throw .invalidName(options.name) }
        let directory = LogDirectory(path: options.logDirectory, calls: options.calls)
        try directory.create(options.mode)
        lock = try WriterLock(options.name, directory)
        home = try EventLogWriter.openHome(options, directory)
        let manifest = try EventLogWriter.manifest(options, directory, home)
        let opened = try EventLogWriter.openSegment(options, directory, manifest.identity)
        self.options = options
        unsafe write = options.calls.write
        self.directory = directory.path
        (name, identity) = (manifest.name, manifest.identity)
        (segment, recovery, logEnd) = (opened.file, opened.recovery, LogEnd(opened, manifest.identity))
        commit = GroupCommit(
            opened.file, sequence: opened.state.nextSequence - 1, bytes: opened.bytes,
            policy: home == nil ? options.sync : .never, calls: options.calls)
    }

    /// The last event's sequence; 0 in a log without events.
    package var lastSequence: UInt64 { nextSequence - 1 }

    /// The last sequence that the log's policy promises to keep.
    ///
    /// With ``SyncPolicy/always`` an `fdatasync` has covered this sequence, so its event survives a power failure. With
    /// the other policies it is the sequence of the last appended event, which survives `kill -9` of this process, but
    /// may be lost in a power failure. After a failed `fdatasync`, with any policy, it is the last sequence that an
    /// earlier `fdatasync` covered. If no earlier `fdatasync` succeeded, it is the log's last sequence when this writer
    /// opened the log.
    package var durableSequence: UInt64 { commit.durableSequence }

    /// How many batches were appended since the log was opened.
    package var batches: UInt64 { commit.batches }

    /// How many of ``batches`` the log's policy promises to keep. Unlike ``durableSequence`` this counts batches
    /// without events, too.
    package var durableBatches: UInt64 { commit.durableBatches }

    /// Sets the callback for durable batches.
    ///
    /// With ``SyncPolicy/always`` the callback is called after each `fdatasync`, with the new ``durableSequence``. With
    /// any policy it is also called after a failed `fdatasync`; then ``check()`` throws. The exception is a finished
    /// segment with ``SyncPolicy/never``: after its failed `fdatasync`, ``check()`` throws, but the callback is not
    /// called. The callback runs on the log's own queue and delays the next `fdatasync`.
    package func onDurable(_ body: @escaping @Sendable (UInt64) -> Void) {
        commit.onDurable(body)
    }

    /// Sets the callback for appended batches. Each successful ``append(_:count:cursor:now:)`` ends with a call of it.
    package func onAppend(_ body: @escaping (AppendedBatch) -> Void) { appended = body }

    /// Appends a batch in one step: after a crash the log has the whole batch or nothing of it. Waits for the disk only
    /// to begin a new segment.
    ///
    /// - Parameters:
    ///   - body: `count` JSON objects, each with a line feed. Empty if only the cursor or `now` changes.
    ///   - cursor: The cursor entries that this batch changes.
    ///   - now: Not earlier than ``lastNow``.
    /// - Returns: The sequence of the first event; without events the sequence of the next event.
    /// - Throws: After an error the batch is not appended. These errors concern only this call:
    ///   ``EventLogError/full(file:bytesNeeded:errno:)``; ``EventLogError/tooLarge(_:bytes:bytesMax:)``;
    ///   ``EventLogError/failed(operation:file:errno:)``; ``EventLogError/syncFailed(file:errno:)`` if the log's folder
    ///   could not be synced for a new segment. Two errors come again on every later call: `syncFailed` after a failed
    ///   `fdatasync`, and `failed` after the writer could not undo a failed append.
    package func append(
        _ body: UnsafeRawBufferPointer, count: Int, cursor changes: Cursor = Cursor(), now: Instant
    ) throws(EventLogError) -> UInt64 {
        try check()
        try unsafe checkSize(body)
        precondition(now >= lastNow, "the batch's now (\(now)) is earlier than the last batch's (\(lastNow))")
        try unsafe EventLines.check(body, count: count)
        let batch = unsafe NewBatch(
            body: body, count: count, cursor: changes, cursorBytes: try changes.encoded(), now: now)
        try unsafe rollIfFull(batch.bytes)
        do { try unsafe logEnd.write(batch, to: segment, write) } catch {
            cutBack()
            throw error
        }
        let next = logEnd.nextSequence
        commit.noteWrittenBatch(through: next - 1, bytes: logEnd.segmentBytes)
        if let appended { unsafe appended(logEnd.place(of: batch)) }
        return next - UInt64(count)
    }

    /// Throws if the log no longer accepts batches, for example after a failed `fdatasync`. Call this method regularly
    /// while waiting for events to become durable, because after a failure they never become durable.
    package func check() throws(EventLogError) {
        precondition(lock != nil, "the log \(name) was closed")
        if let failure = failure ?? commit.failure { throw failure }
    }

    /// Throws if the file of the last segment was deleted. Further events would be lost when the process ends.
    package func checkSegmentExists() throws(EventLogError) {
        var status = stat()
        guard unsafe fstat(segment.descriptor, &status) == 0 else { throw .lastFailure("look at", segment.path) }
        if status.st_nlink == 0 { throw .failed(operation: "find", file: segment.path, errno: ENOENT) }
    }

    /// Waits until all appended events are on the disk, whatever the policy.
    package func flush() throws(EventLogError) {
        try check()
        try commit.flush()
    }

    /// A function that returns ``durableSequence`` and can be called on any thread.
    package var durableEnd: @Sendable () -> UInt64 { { [commit] in commit.durableSequence } }

    /// A function that waits like ``flush()`` and can be called on any thread. It does not call ``check()``.
    package var flushing: @Sendable () throws -> Void {
        { [commit] in try commit.flush() }
    }

    /// Flushes, unless the policy is ``SyncPolicy/never``, and releases the log for another writer. A failed flush
    /// releases the log, too.
    ///
    /// Deallocating a writer releases the log without a flush.
    package func close() throws(EventLogError) {
        guard lock != nil else { return }
        defer { lock = nil }
        if options.sync != .never || home != nil { try commit.flush() }
    }
}

extension EventLogWriter {
    private static func manifest(
        _ options: EventLogOptions, _ directory: LogDirectory, _ home: (any HomeLog)?
    ) throws(EventLogError) -> LogManifest {
        if let manifest = try LogManifest.read(in: directory) {
            if manifest.name == options.name { return manifest }
            throw .damaged(
                file: directory.manifestPath, offset: 0, sequence: 1,
                reason: "log.json names log '\(manifest.name)', but its folder is '\(options.name)'")
        }
        guard try directory.segments().isEmpty else { throw .withoutManifest(directory: directory.path) }
        let manifest = LogManifest(name: options.name, identity: home?.identity ?? options.identity ?? .random())
        try manifest.write(in: directory)
        return manifest
    }

    /// The end of the log's last segment.
    var end: SegmentEnd { SegmentEnd(nextSequence: nextSequence, lastNow: lastNow, bytes: logEnd.segmentBytes) }
    var calls: FileCalls { options.calls }

    /// Begins a new segment if a batch of this size would make the current segment too large.
    private func rollIfFull(_ bytes: Int) throws(EventLogError) {
        guard logEnd.isFull(for: bytes, bytesMax: options.segmentBytesMax) else { return }
        try commit.finishSegment()
        let directory = LogDirectory(path: directory, calls: calls)
        let next: OpenFile
        do { next = try OpenFile(directory.segmentPath(nextSequence), O_RDWR | O_CREAT, calls: calls) } catch {
            throw error.orFull(bytesNeeded: bytes)
        }
        do { try directory.synchronize() } catch {
            try withdraw(next)
            throw error
        }
        commit.move(to: next)
        segment = next
        logEnd.beginSegment()
    }

    /// Removes a new segment after a failure, because the writer continues in the segment before it, and only the last
    /// segment may grow.
    private func withdraw(_ next: OpenFile) throws(EventLogError) {
        guard uninterrupted({ unsafe calls.unlink(next.path) }) != 0 else { return }
        let error = EventLogError.lastFailure("remove", next.path)
        failure = error
        throw error
    }

    private func cutBack() {
        if uninterrupted({ calls.truncate(segment.descriptor, off_t(logEnd.segmentBytes)) }) == 0 { return }
        failure = .lastFailure("cut back", segment.path)
    }
}

extension EventLogError {
    /// The same failure, or ``full(file:bytesNeeded:errno:)`` if its `errno` means a lack of room.
    func orFull(bytesNeeded: Int) -> EventLogError {
        guard case .failed(_, let file, let code) = self, EventLogError.isLackOfRoom(code) else { return self }
        return .full(file: file, bytesNeeded: bytesNeeded, errno: code)
    }
}
