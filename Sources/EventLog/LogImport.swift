import Glibc
import Time

/// Makes a log from the lines of ``LogExport``: the same bytes in the same segments.
///
/// ``ImportFolder/publish()`` moves the log into the folder for the logs.
package final class LogImport {
    private let log: LogDirectory
    private let manifest: LogManifest
    private let upstream: UpstreamNote?
    private let lock: WriterLock
    private var segment: (file: OpenFile, bytes: UInt64)?
    private var nextSequence: UInt64?
    private var lastNow = Instant.epoch
    private var settings = SettingsFile(lines: [])
    private var snapshot: (file: OpenFile, bytes: UInt64)?

    /// - Parameter upstream: The log that this log was made from; nil for a source's log.
    /// - Throws: ``LogImportError`` if the name is in use already; ``EventLogError``.
    package init(in folder: ImportFolder, name: String, identity: LogIdentity, upstream: UpstreamNote?) throws {
        guard EventLogLimits.isValid(name: name) else { throw EventLogError.invalidName(name) }
        log = try folder.temporaryFolder(for: name)
        (manifest, self.upstream) = (LogManifest(name: name, identity: identity), upstream)
        try log.create()
        lock = try WriterLock(name, log)
    }

    /// Adds a line of `settings.ndjson`, without its line feed.
    package func add(settings line: UnsafeRawBufferPointer) throws {
        guard let line = unsafe SettingsFile.Line(line) else {
            throw LogImportError("the settings do not have the form of a line of settings.ndjson")
        }
        if settings.lines.isEmpty { (settings.log, settings.hasCRC) = (line.log, line.crc != nil) }
        settings.lines.append(line)
    }

    /// Appends to a snapshot. A new file name begins a new snapshot.
    package func add(snapshot name: String, part: UnsafeRawBufferPointer) throws {
        guard SnapshotFormat.isName(name) else { throw LogImportError("'\(name)' is not the name of a snapshot") }
        let path = log.path + "/snapshots/" + name
        if snapshot?.file.path != path {
            try endSnapshot()
            try LogDirectory(path: log.path + "/snapshots").create()
            snapshot = (try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL), 0)
        }
        guard case (let file, let bytes)? = snapshot else { return }
        try unsafe write(part, to: file, at: bytes)
        snapshot = (file, bytes + UInt64(part.count))
    }

    /// Begins a segment with its opening: the log's cursor and time before it.
    package func begin(segment first: UInt64, cursor: Cursor, now: Instant) throws {
        let expected = nextSequence ?? max(first, 1)
        guard first == expected else {
            throw LogImportError("the segment begins with sequence \(first), but sequence \(expected) is next")
        }
        try endSegment()
        if nextSequence == nil, first > 1 { try log.noteTrim(to: first) }
        segment = (try OpenFile(log.segmentPath(first), O_WRONLY | O_CREAT | O_EXCL), 0)
        nextSequence = first
        try unsafe put(.opening, UnsafeRawBufferPointer(start: nil, count: 0), 0, cursor, now)
    }

    /// - Parameter body: `count` lines, each with a line feed.
    package func append(
        _ body: UnsafeRawBufferPointer, first: UInt64, count: Int, cursor: Cursor, now: Instant
    ) throws {
        guard let nextSequence, segment != nil else { throw LogImportError("a batch comes before the first segment") }
        guard first == nextSequence else {
            throw LogImportError("the batch begins with sequence \(first), but sequence \(nextSequence) is next")
        }
        try unsafe EventLines.check(body, count: count)
        try unsafe put(.batch, body, count, cursor, now)
    }

    /// Completes the log and makes it durable.
    ///
    /// - Parameter isCut: Whether the export was cut off. Then snapshots that no stage can use are left out. Incomplete
    ///   settings are left out if the export ends before the first segment; in all other cases they are an error.
    /// - Returns: A description of each part that was left out.
    @discardableResult
    package func finish(isCut: Bool = false) throws -> [String] {
        try endSegment()
        let droppedSettings = try dropIncompleteSettings(isCut: isCut && nextSequence == nil)
        var leftOut = droppedSettings ? ["its incomplete settings"] : []
        // A log without events has an empty segment.
        if nextSequence == nil { _ = try OpenFile(log.segmentPath(1), O_WRONLY | O_CREAT | O_EXCL) }
        try endSnapshot()
        try settings.write(in: log)
        if let upstream {
            let file = try OpenFile(UpstreamNote.path(in: log.path), O_WRONLY | O_CREAT | O_TRUNC)
            try unsafe Array(upstream.text.utf8).withUnsafeBytes { try unsafe write($0, to: file, at: 0) }
            try file.synchronize()
        }
        try manifest.write(in: log)
        if isCut { leftOut += try dropSnapshots() }
        return leftOut
    }

    /// - Parameter isCut: Whether a line may be missing.
    /// - Returns: Whether the settings were incomplete and dropped.
    private func dropIncompleteSettings(isCut: Bool) throws -> Bool {
        if let other = settings.log, other != manifest.identity {
            throw LogImportError("the settings of \(manifest.name) belong to log \(other)")
        }
        guard settings.firstWrongLine != nil else { return false }
        guard isCut else { throw LogImportError("the CRC does not match the settings of \(manifest.name)") }
        settings.lines = []
        return true
    }

    /// Removes the snapshots that no stage can use.
    ///
    /// - Returns: A description of each removed snapshot.
    private func dropSnapshots() throws -> [String] {
        let summary = try EventLogs.summary(directory: log.path)
        return try SnapshotStore(logDirectory: log.path).check(summary).map { problem in
            guard unsafe unlink(problem.file) == 0 else { throw EventLogError.lastFailure("remove", problem.file) }
            return "snapshot \(LogDirectory.split(problem.file).name): \(problem.reason)"
        }
    }

    private func endSegment() throws {
        try segment?.file.synchronize()
        segment = nil
    }

    private func endSnapshot() throws {
        guard let file = snapshot?.file else { return }
        try file.synchronize()
        try LogDirectory(path: log.path + "/snapshots").synchronize()
        snapshot = nil
    }

    private func put(
        _ kind: FixedHeader.Kind, _ body: UnsafeRawBufferPointer, _ count: Int, _ cursor: Cursor, _ now: Instant
    ) throws {
        guard case (let file, var offset)? = segment, let sequence = nextSequence else { return }
        guard now >= lastNow else { throw LogImportError("time goes back from \(lastNow) to \(now)") }
        let cursorBytes = try cursor.encoded()
        let header = unsafe FixedHeader(
            kind, manifest.identity, first: sequence, count: count, now: now, cursor: cursorBytes, body: body)
        var bytes: [UInt8] = []
        header.append(to: &bytes)
        bytes += cursorBytes
        unsafe bytes.append(contentsOf: body)
        try unsafe bytes.withUnsafeBytes { try unsafe write($0, to: file, at: offset) }
        offset += UInt64(bytes.count)
        (segment, nextSequence, lastNow) = ((file, offset), sequence + UInt64(count), now)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile, at offset: UInt64) throws {
        guard let code = unsafe file.write(bytes, at: offset, FileCalls.system.write) else { return }
        throw EventLogError.failed(operation: "write", file: file.path, errno: code).orFull(bytesNeeded: bytes.count)
    }
}

/// Why lines cannot be imported.
package struct LogImportError: Error, Hashable, CustomStringConvertible {
    package var description: String
    /// Whether a log or a folder with files already has the name of the new log.
    package var isNameTaken = false

    package init(_ reason: String, isNameTaken: Bool = false) {
        (description, self.isNameTaken) = (reason, isNameTaken)
    }
}
