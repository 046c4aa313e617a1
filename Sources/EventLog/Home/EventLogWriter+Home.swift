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
        } while try home.takeOver(after: end) == nil
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
    fileprivate func cut(at place: LocalBatches.Place, because reason: String) throws(EventLogError) {
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
    fileprivate func begin(at start: OpenedSegment.State) throws(EventLogError) {
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

/// Reads the home's log while it is opened, compares the local batches, and appends those that are missing.
private struct HomeReader {
    private let writer: EventLogWriter
    private var local: LocalBatches?
    /// The position of the last message with batches.
    private(set) var lastBatches: UInt64
    /// The last content of each file.
    private(set) var files: [String: String] = [:]
    /// The first sequence of the local files, if it is not known which messages they come from; else 0.
    private let localFirst: UInt64
    private var hasCompared = false
    /// Whether the log had its home for all local batches.
    private let isComplete: Bool
    private let hasNote: Bool
    private let host: String
    /// See ``EventLogWriter/continuesAnotherHost``.
    private(set) var hasOtherOwner = false

    init(_ writer: EventLogWriter, _ note: HomeNote?, _ local: LocalBatches, host: String) {
        (self.writer, self.local, self.host, hasNote) = (writer, local, host, note != nil)
        (lastBatches, localFirst) = (note?.position ?? 0, note == nil ? local.first : 0)
        isComplete = note?.isComplete ?? true
    }

    mutating func take(_ message: HomeMessage) throws(EventLogError) {
        switch message.content {
        case .owner(let owner): hasOtherOwner = hasOtherOwner || !hasNote || owner != host
        case .file(let name, let text):
            guard HomeMessage.files.contains(name) else {
                throw fail("message \(message.position) has a file with the unknown name '\(name.prefix(80))'")
            }
            files[name] = text
            try LogDirectory(path: writer.directory, calls: writer.calls).replace(
                "\(writer.directory)/\(name)", with: text)
        case .batches(let bytes):
            // The message of the owner may have been trimmed.
            hasOtherOwner = hasOtherOwner || !hasNote
            let found = try HomeBatches(bytes, position: message.position, of: writer.name, writer.identity)
            try begin(with: found)
            for batch in found.batches { try take(batch, of: found) }
            lastBatches = message.position
        }
    }

    /// Skips or accepts what the local files have before the home's first message.
    private mutating func begin(with found: HomeBatches) throws(EventLogError) {
        guard lastBatches == 0, found.start.nextSequence > 1 else { return }
        if writer.lastNow == .epoch, writer.nextSequence == 1 {
            local = nil
            return try writer.begin(at: found.start)
        }
        if localFirst > 0 { try local?.skip(to: found.start.nextSequence) }
    }

    private mutating func take(_ batch: HomeBatches.Batch, of found: HomeBatches) throws(EventLogError) {
        if local != nil, batch.fixed.firstSequence < localFirst { return }
        if let next = try local?.next() {
            if next.fixed == batch.fixed {
                hasCompared = true
                return
            }
            if !hasCompared, batch.fixed.firstSequence == localFirst, batch.fixed.count == 0 {
                // Retention has removed this batch with the segment before the first local one.
                local?.putBack(next)
                return
            }
            guard isComplete else {
                throw fail(
                    "it has other events from sequence \(batch.fixed.firstSequence) on than \(writer.directory), which "
                        + "was written without its home: move this folder away, and it is filled again from the home")
            }
            try writer.cut(at: next.place, because: "the home of the log has other events there")
        }
        local = nil
        guard batch.fixed.firstSequence == writer.nextSequence else {
            throw fail(
                "it continues with sequence \(batch.fixed.firstSequence), but \(writer.directory) ends with "
                    + "\(writer.lastSequence): move this folder away, and it is filled again from the home")
        }
        try unsafe found.bytes.withUnsafeBufferPointer { bytes throws(EventLogError) in
            let body = unsafe UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[batch.body]))
            _ = try unsafe writer.append(
                body, count: Int(batch.fixed.count), cursor: batch.cursor, now: batch.fixed.now)
        }
    }

    /// Whether there are local batches that the home does not have. Call this after all messages were taken.
    mutating func hasRest() throws(EventLogError) -> Bool {
        guard let next = try local?.next() else { return false }
        local?.putBack(next)
        return true
    }

    /// Where the local batches begin that the home does not have; nil if it has all.
    mutating func rest() throws(EventLogError) -> LocalBatches.Place? {
        defer { local = nil }
        return try local?.next()?.place
    }

    private func fail(_ reason: String) -> EventLogError { .unusableHome(log: writer.name, reason: reason) }
}

/// The batches of a log's local files, one after the other, without the openings.
struct LocalBatches {
    struct Place: Hashable {
        var segment: UInt64
        var offset: UInt64
    }

    /// The first sequence of the first segment; 0 without segments.
    let first: UInt64
    private let log: LogDirectory
    private let identity: LogIdentity
    private var segments: [UInt64]
    private var reader: SegmentReader?
    private var waiting: (fixed: FixedHeader, place: Place)?

    /// - Parameter note: Where to begin; nil for the first segment.
    init(_ log: LogDirectory, _ identity: LogIdentity, from note: HomeNote?) throws(EventLogError) {
        (self.log, self.identity) = (log, identity)
        segments = try log.segments().filter { $0 >= note?.segment ?? 0 }
        first = segments.first ?? 0
        guard let note, segments.first == note.segment else { return }
        segments.removeFirst()
        let size = try OpenFile(log.segmentPath(note.segment), O_RDONLY).size()
        guard note.offset <= size else {
            throw .unusableHome(
                log: LogDirectory.split(log.path).name,
                reason: "it has stored events through \(note.sequence), but \(log.segmentPath(note.segment)) ends with "
                    + "byte \(size) of \(note.offset): move the folder \(log.path) away, and it is filled again from "
                    + "the home"
            )
        }
        reader = try SegmentReader(
            log, note.segment, identity, start: (offset: note.offset, sequence: note.sequence + 1))
    }

    mutating func next() throws(EventLogError) -> (fixed: FixedHeader, place: Place)? {
        if let waiting {
            self.waiting = nil
            return waiting
        }
        while true {
            guard let reader else {
                guard !segments.isEmpty else { return nil }
                self.reader = try SegmentReader(log, segments.removeFirst(), identity)
                continue
            }
            let place = Place(segment: reader.first, offset: reader.offset)
            guard case .batch(let batch) = try unsafe reader.peek(withBody: false) else {
                self.reader = nil
                continue
            }
            unsafe reader.consume(batch)
            if unsafe !batch.isOpening { return unsafe (batch.fixed, place) }
        }
    }

    /// Makes ``next()`` return the batch that it has just returned once more.
    mutating func putBack(_ batch: (fixed: FixedHeader, place: Place)) { waiting = batch }

    /// Skips the batches before a sequence.
    mutating func skip(to sequence: UInt64) throws(EventLogError) {
        while let batch = try next() {
            guard batch.fixed.firstSequence < sequence else { return putBack(batch) }
        }
    }
}
