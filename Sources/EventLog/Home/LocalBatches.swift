import Glibc
import Time

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
