import Glibc
import Time

/// The last sequence that the home has acknowledged decides: local batches after it were shown to nobody, so they are
/// cut off. Batches that the local files lack are appended.
extension EventLogWriter {
    static func openHome(
        _ options: EventLogOptions, _ directory: LogDirectory
    ) throws(EventLogError) -> (any HomeLog)? {
        guard let home = options.home else { return nil }
        let local = try LogManifest.read(in: directory)
        let log = try home.open(
            options.nameInHome ?? options.name, identity: local?.identity ?? options.identity ?? .random())
        guard let local, local.identity != log.identity else { return log }
        throw .unusableHome(
            log: options.name,
            reason: "it holds log \(log.identity), but \(directory.path) is log \(local.identity): this is the folder "
                + "or the home of another pipeline")
    }

    /// Opens the last segment. If it is damaged and the log has a home, the error says how to get it again.
    static func openSegment(
        _ options: EventLogOptions, _ directory: LogDirectory, _ identity: LogIdentity
    ) throws(EventLogError) -> OpenedSegment {
        do { return try OpenedSegment(directory, identity, options) } catch {
            guard options.home != nil, case .damaged(let file, let offset, let sequence, let reason) = error else {
                throw error
            }
            throw .unusableHome(
                log: options.name,
                reason:
                    "\(file) is damaged at byte \(offset), from sequence \(sequence) on: \(reason). Move the folder "
                    + "\(directory.path) away, and it is filled again from the home")
        }
    }

    func checkSize(_ body: UnsafeRawBufferPointer) throws(EventLogError) {
        guard home != nil, body.count > HomeMessage.batchBytesMax else { return }
        throw .tooLarge("a batch", bytes: body.count, bytesMax: HomeMessage.batchBytesMax)
    }

    /// - Returns: What makes further batches durable.
    func takeOver(_ home: any HomeLog) throws(EventLogError) -> GroupCommit {
        let log = LogDirectory(path: directory, calls: calls)
        let note = try HomeNote.read(in: directory)
        var reader = HomeReader(self, note, try LocalBatches(log, identity, from: note), host: home.host)
        var end = note?.position ?? 0
        repeat {
            end = try home.read(after: end) { message throws(EventLogError) in try reader.take(message) }
            if note == nil, reader.lastBatches > 0, try reader.hasRest() { throw withoutNote }
            if let expected = options.endInHome, end != expected { throw takenMeanwhile }
            if let position = try home.takeOver(after: end) {
                ownerPosition = position
                break
            }
            if options.endInHome != nil { throw takenMeanwhile }
        } while true
        continuesAnotherHost = reader.hasOtherOwner
        let rest = try reader.rest()
        let hasUncopied = rest != nil && (note.map { !$0.isComplete } ?? (reader.lastBatches == 0))
        if let rest, !hasUncopied { try cut(at: rest, because: "the home of the log had not stored these events") }
        try commit.flush()
        if let rest, hasUncopied { try copy(from: rest, to: home, after: reader.lastBatches, log) }
        let state = OpenedSegment.State(nextSequence: nextSequence, lastNow: lastNow, cursor: cursor)
        let position = hasUncopied ? try HomeNote.read(in: directory)?.position ?? 0 : reader.lastBatches
        let copy = try HomeCopy(
            home, segment,
            HomeNote(
                position: position, segment: segmentFirst, offset: logEnd.segmentBytes, sequence: lastSequence),
            state, directory: directory, calls)
        let commit = GroupCommit(
            segment, sequence: lastSequence, bytes: logEnd.segmentBytes, policy: .always, calls: calls, copy: copy)
        for name in HomeMessage.files {
            guard let file = try OpenFile.ifPresent("\(directory)/\(name)") else { continue }
            let text = try file.text()
            if reader.files[name] != text { try commit.copyToHome(file: name, text) }
        }
        try fillSnapshots(from: home)
        return commit
    }

    private var takenMeanwhile: EventLogError {
        .replaced(log: name, reason: "another host has continued it at this moment")
    }

    /// Writes the snapshots that the home keeps and the local folder lacks.
    private func fillSnapshots(from home: any HomeLog) throws(EventLogError) {
        let store = SnapshotStore(logDirectory: directory)
        let local = Set(try store.list().map(\.name))
        for snapshot in try home.snapshots() where !local.contains(snapshot.name) {
            guard SnapshotFormat.isName(snapshot.name) else {
                throw .unusableHome(
                    log: name, reason: "it keeps a snapshot with the unknown name '\(snapshot.name.prefix(80))'")
            }
            try store.fill(snapshot) { take throws(EventLogError) in try home.read(snapshot, take) }
        }
    }

    /// The names of the snapshots that the log's home keeps. Empty without a home.
    package func snapshotsInHome() throws(EventLogError) -> Set<String> {
        Set(try home?.snapshots().map(\.name) ?? [])
    }

    /// A function that keeps a snapshot in the log's home, too, and returns the names of all that the home keeps then.
    /// It can be called on any thread. Nil without a home.
    package var keepingSnapshotsInHome: (@Sendable (SnapshotFile) throws(EventLogError) -> Set<String>)? {
        guard let home else { return nil }
        return { file throws(EventLogError) in
            let open = try OpenFile(file.path, O_RDONLY)
            try home.keep(HomeSnapshot(name: file.name, bytes: file.bytes)) { offset, count throws(EventLogError) in
                try open.bytes(count, at: offset)
            }
            return Set(try home.snapshots().map(\.name))
        }
    }

    /// A function that finds out whether a host has taken the log over with the message at a position in the log's home.
    /// False without a home, or if the home does not answer. It can be called on any thread.
    package var findingOwner: @Sendable (UInt64) -> Bool {
        guard let home else { return { _ in false } }
        return { position in
            do throws(EventLogError) { return try home.hasOwner(at: position) } catch { return false }
        }
    }

    /// A function that removes the events before a sequence from the log's home, as far as whole messages have only
    /// such events. It can be called on any thread. Nil without a home.
    var trimmingHome: (@Sendable (UInt64) throws(EventLogError) -> Void)? {
        guard let home else { return nil }
        return { [commit, directory] sequence throws(EventLogError) in
            try home.trim(before: sequence) { () throws(EventLogError) in
                for name in HomeMessage.files {
                    guard let file = try OpenFile.ifPresent("\(directory)/\(name)") else { continue }
                    try commit.copyToHome(file: name, try file.text())
                }
            }
        }
    }

    private var withoutNote: EventLogError {
        .unusableHome(
            log: name,
            reason: "\(directory) has events that the home lacks, and its home.json is missing or damaged, so nobody "
                + "knows whether the home had stored them: 'belfry log repair' with -p stores them there again; or move "
                + "this folder away, and it is filled from the home without them")
    }

    /// Copies batches that were written without the home, or before the log had one.
    private func copy(
        from place: LocalBatches.Place, to home: any HomeLog, after position: UInt64, _ log: LogDirectory
    ) throws(EventLogError) {
        let reader = try SegmentReader(log, place.segment, identity)
        var state = OpenedSegment.State(nextSequence: place.segment, lastNow: .epoch, cursor: Cursor())
        var offset: UInt64 = 0
        while reader.offset < place.offset, case .batch(let batch) = try unsafe reader.peek(withBody: false) {
            unsafe reader.consume(batch)
            unsafe state.cursor.fold(batch.header.cursor)
            (state.nextSequence, state.lastNow) = (reader.nextSequence, reader.lastNow)
            // A message begins with a segment's own opening, or with one that ``HomeCopy`` makes.
            if unsafe !batch.isOpening { offset = reader.offset }
        }
        let note = HomeNote(
            position: position, segment: place.segment, offset: offset, sequence: state.nextSequence - 1,
            isComplete: false)
        let file = try OpenFile(log.segmentPath(place.segment), O_RDONLY)
        try HomeCopy(home, file, note, state, directory: directory, calls).copyRest(of: log)
    }

    /// Keeps the content of a file beside the log in the log's home, too. Call this after the file was written. Does
    /// nothing without a home.
    package func keepInHome(_ name: String, _ text: String) throws(EventLogError) {
        try keepingInHome(name, text)
    }

    /// A function that does the same as ``keepInHome(_:_:)`` and can be called on any thread.
    package var keepingInHome: @Sendable (_ name: String, _ text: String) throws(EventLogError) -> Void {
        guard home != nil else { return { _, _ in } }
        return { [commit] name, text throws(EventLogError) in try commit.copyToHome(file: name, text) }
    }

    /// Whether so many batches wait for the log's home that the next append should wait, too. The callback of
    /// ``onDurable(_:)`` is called before this becomes false. Always false without a home.
    ///
    /// - Parameter bytes: The size of the events of the next batch. A new segment begins only when the home has stored
    ///   all of the old one.
    package func isHomeBehind(before bytes: Int) -> Bool {
        guard home != nil else { return false }
        let waiting = commit.waitingBytes
        return waiting > HomeMessage.waitingBytesMax || waiting > 0 && mayBeginSegment(for: bytes)
    }

    private func mayBeginSegment(for bytes: Int) -> Bool {
        logEnd.isFull(for: bytes + EventLogWriter.headBytesMax, bytesMax: options.segmentBytesMax)
    }

    /// More than the header and the cursor of a batch usually have. A batch with a larger head may have to wait for the
    /// home within ``append(_:count:cursor:now:)``.
    private static let headBytesMax = 16 << 10

    /// Cuts off the log at a place between two batches.
    func cut(at place: LocalBatches.Place, because reason: String) throws(EventLogError) {
        let log = LogDirectory(path: directory, calls: calls)
        var bytesCut: UInt64 = 0
        for first in try log.segments().reversed() where first > place.segment {
            bytesCut += try OpenFile(log.segmentPath(first), O_RDONLY).size()
            guard uninterrupted({ unsafe calls.unlink(log.segmentPath(first)) }) == 0 else {
                throw .lastFailure("remove", log.segmentPath(first))
            }
        }
        let file = try OpenFile(log.segmentPath(place.segment), O_RDWR, calls: calls)
        bytesCut += try file.size() - place.offset
        guard uninterrupted({ calls.truncate(file.descriptor, off_t(place.offset)) }) == 0 else {
            throw .lastFailure("cut back", file.path)
        }
        let opened = try OpenedSegment(log, identity, options)
        (segment, logEnd) = (opened.file, LogEnd(opened, identity))
        commit.move(to: opened.file)
        // Snapshots and indexes of the events that were cut off.
        for witness in try LostEnd(of: log, identity).beyond(lastSequence) {
            guard uninterrupted({ unsafe calls.unlink(witness.file) }) == 0 || errno == ENOENT else {
                throw .lastFailure("remove", witness.file)
            }
        }
        recovery = Recovery(
            file: file.path, offset: place.offset, bytesCut: bytesCut + (recovery?.bytesCut ?? 0), reason: reason)
    }

    /// Begins a log without local events with a later sequence than 1.
    func begin(at start: OpenedSegment.State) throws(EventLogError) {
        let log = LogDirectory(path: directory, calls: calls)
        try log.noteTrim(to: start.nextSequence)
        let file = try OpenFile(log.segmentPath(start.nextSequence), O_RDWR | O_CREAT, calls: calls)
        let old = segment.path
        (segment, logEnd) = (file, LogEnd(start, identity, segmentFirst: start.nextSequence, segmentBytes: 0))
        commit.move(to: file)
        guard old == file.path || uninterrupted({ unsafe calls.unlink(old) }) == 0 else {
            throw .lastFailure("remove", old)
        }
        try log.synchronize()
    }
}

extension OpenFile {
    fileprivate func text() throws(EventLogError) -> String {
        String(decoding: try bytes(Int(try size()), at: 0), as: UTF8.self)
    }
}
