import Glibc
import Time

/// Passes the batches of a log's local files on to its home. Not thread-safe: ``GroupCommit`` keeps it behind
/// a mutex.
@safe final class HomeCopy {
    private let home: any HomeLog
    private let calls: FileCalls
    private let identity: LogIdentity
    private let noteFile: OpenFile
    private var file: OpenFile
    private var note: HomeNote
    /// The log's state at the place that ``note`` tells.
    private var state: OpenedSegment.State

    /// - Parameters:
    ///   - file: The segment that `note` names.
    ///   - note: The place up to which the home has the log.
    init(
        _ home: any HomeLog, _ file: OpenFile, _ note: HomeNote, _ state: OpenedSegment.State, directory: String,
        _ calls: FileCalls
    ) throws(EventLogError) {
        (self.home, self.file, self.note, self.state, self.calls) = (home, file, note, state, calls)
        identity = home.identity
        noteFile = try HomeNote.open(in: directory, calls: calls)
        try note.write(to: noteFile, calls)
        // Later notes may be lost in a power failure. An older note does no harm, but without one the log is refused.
        try noteFile.synchronize(calls)
        try LogDirectory(path: directory, calls: calls).synchronize()
    }

    /// Copies all batches after the place in ``note``: the rest of its segment, and all later segments.
    func copyRest(of log: LogDirectory) throws(EventLogError) {
        for segment in try log.segments() where segment >= note.segment {
            if segment > note.segment { move(to: try OpenFile(log.segmentPath(segment), O_RDONLY)) }
            try copy(through: try file.size())
        }
        note.isComplete = true
        try note.write(to: noteFile, calls)
    }

    /// Continues with a new segment, whose first sequence is the log's next. The home has all of the old segment.
    func move(to file: OpenFile) {
        self.file = file
        (note.segment, note.offset) = (state.nextSequence, 0)
    }

    func append(file name: String, _ text: String) throws(EventLogError) {
        _ = try home.append(.file(name: name, text: text))
    }

    /// Appends all batches before the offset `end` to the home.
    func copy(through end: UInt64) throws(EventLogError) {
        while note.offset < end { try copyMessage(through: end) }
    }

    private func copyMessage(through end: UInt64) throws(EventLogError) {
        var message: [UInt8] = []
        if note.offset > 0 {
            let cursor = try state.cursor.encoded()
            unsafe FixedHeader(
                .opening, identity, first: state.nextSequence, count: 0, now: state.lastNow, cursor: cursor
            ).append(to: &message)
            message += cursor
        }
        let opening = message.count
        let size = try append(to: &message, through: end)
        var (place, next) = (0, state)
        while place < size {
            guard let (fixed, cursor) = HomeBatches.head(message, at: opening + place),
                fixed.firstSequence == next.nextSequence
            else {
                throw .damaged(
                    file: file.path, offset: note.offset, sequence: next.nextSequence, reason: noNextBatch)
            }
            next.nextSequence += UInt64(fixed.count)
            next.lastNow = fixed.now
            next.cursor.fold(cursor)
            place += fixed.batchBytes
        }
        let position = try home.append(.batches(message))
        state = next
        (note.position, note.sequence) = (position, next.nextSequence - 1)
        note.offset += UInt64(size)
        try note.write(to: noteFile, calls)
    }

    private var noNextBatch: String { "the bytes are not a whole batch that continues the log" }

    /// Appends whole batches from the file: as many as a message may have.
    ///
    /// - Returns: Their size.
    private func append(to message: inout [UInt8], through end: UInt64) throws(EventLogError) -> Int {
        let start = message.count
        var wanted = Int(min(end - note.offset, UInt64(HomeMessage.fullBytes)))
        while true {
            let read = try file.bytes(wanted, at: note.offset)
            let (whole, next) = HomeCopy.wholeBatches(read, beginsWithOpening: note.offset == 0)
            if whole > 0 {
                message.reserveCapacity(start + whole)
                message += read[..<whole]
                return whole
            }
            guard read.count == wanted, let next, next > wanted else {
                throw .damaged(
                    file: file.path, offset: note.offset, sequence: state.nextSequence, reason: noNextBatch)
            }
            wanted = next
        }
    }

    /// - Parameter beginsWithOpening: Whether the first batch is the segment's opening, which is sent only together
    ///   with the batch after it.
    /// - Returns: The size of the whole batches at the beginning, and how many bytes the next batch needs, counted from
    ///   the beginning.
    private static func wholeBatches(_ bytes: [UInt8], beginsWithOpening: Bool) -> (size: Int, next: Int?) {
        var (size, batches) = (0, 0)
        var next: Int?
        while bytes.count - size >= BatchFormat.headerBytes {
            let fixed = unsafe bytes.withUnsafeBytes { all in
                unsafe FixedHeader.decode(UnsafeRawBufferPointer(rebasing: all[size...]))
            }
            guard case .header(let fixed) = fixed else { break }
            next = size + fixed.batchBytes
            guard size + fixed.batchBytes <= bytes.count else { break }
            size += fixed.batchBytes
            batches += 1
        }
        if bytes.count - size < BatchFormat.headerBytes { next = size + BatchFormat.headerBytes }
        return (beginsWithOpening && batches < 2 ? 0 : size, next)
    }
}
