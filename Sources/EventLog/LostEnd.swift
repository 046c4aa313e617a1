import Glibc
import Time

/// Detects that a log has lost its last events. Files beside the log that were made from the lost events show this.
///
/// The log alone does not show the loss, because a segment may be cut off exactly between two batches, or be empty.
struct LostEnd {
    /// A snapshot or an index file, and the last sequence that it was made from.
    struct Witness: Hashable {
        var file: String
        var sequence: UInt64
    }

    private let witnesses: [Witness]

    /// Must be called before the log is read, unless the log is locked. Otherwise a writer could make newer files after
    /// the log was read, and the log would seem to have lost its end.
    init(of log: LogDirectory, _ identity: LogIdentity) throws(EventLogError) {
        witnesses = try LostEnd.snapshots(log, identity) + LostEnd.indexes(log, identity)
    }

    /// The files that were made from events after `lastSequence`.
    func beyond(_ lastSequence: UInt64) -> [Witness] { witnesses.filter { $0.sequence > lastSequence } }

    /// The problem of a log that ends with `lastSequence`; nil if no file was made from later events.
    func problem(in file: String, at offset: UInt64, after lastSequence: UInt64) -> VerifyReport.Problem? {
        guard let best = beyond(lastSequence).max(by: { $0.sequence < $1.sequence }) else { return nil }
        let reason =
            "the log ends with sequence \(lastSequence), but \(best.file) was made when the log had reached "
            + "\(best.sequence): \(best.sequence - lastSequence) or more events are lost"
        return VerifyReport.Problem(file: file, offset: offset, sequence: lastSequence + 1, reason: reason)
    }

    private static func snapshots(_ log: LogDirectory, _ identity: LogIdentity) throws(EventLogError) -> [Witness] {
        var witnesses: [Witness] = []
        for file in try SnapshotStore(logDirectory: log.path).list() {
            guard let header = file.header, header.log == identity else { continue }
            witnesses.append(Witness(file: file.path, sequence: header.sequence))
        }
        return witnesses
    }

    private static func indexes(_ log: LogDirectory, _ identity: LogIdentity) throws(EventLogError) -> [Witness] {
        let folder = "\(log.path)/\(IndexFormat.folder)"
        var witnesses: [Witness] = []
        for name in try LogDirectory.entries(of: folder).sorted() where name.hasSuffix(".index") {
            guard let file = try OpenFile.ifPresent("\(folder)/\(name)"),
                try IndexHeader.identity(of: file) == identity,
                let (first, last) = try IndexHeader.sequences(of: file)
            else { continue }
            // If the segment of an index file is missing, assume that at least the segment's first event existed.
            let hasSegment = try OpenFile.ifPresent(log.segmentPath(first)) != nil
            witnesses.append(Witness(file: file.path, sequence: hasSegment ? last : max(first, last)))
        }
        return witnesses
    }
}

extension IndexHeader {
    /// The first sequence of the segment, and the last sequence in the index file's blocks before the first gap or
    /// damaged block. Nil if the first sequence is 0, which no segment has.
    ///
    /// - Parameter file: An index file with an intact header.
    fileprivate static func sequences(of file: OpenFile) throws(EventLogError) -> (first: UInt64, last: UInt64)? {
        let bytes = try file.bytes(IndexFormat.headerBytes, at: 0)
        let digest = digest(ofEncoded: bytes)
        let first = unsafe bytes.withUnsafeBytes { unsafe $0.word(40, UInt64.self) }
        var next = first
        guard first > 0 else { return nil }
        var position = UInt64(IndexFormat.headerBytes)
        while let head = BlockHead(try file.bytes(IndexFormat.blockHeadBytes, at: position), digest: digest),
            head.firstSequence == next
        {
            next = head.nextSequence
            position += UInt64(head.fileBytes)
        }
        return (first, next - 1)
    }
}
