import Glibc
import Time

/// What lies beside a log and was made when the log reached further. Then the end of the log is lost, however whole the
/// rest looks: a segment that is cut off between two batches, or to nothing, shows no sign of it.
struct LostEnd {
    /// A snapshot or a file of the index, and the last sequence that it knows.
    struct Witness: Hashable {
        var file: String
        var sequence: UInt64
    }

    let witnesses: [Witness]

    /// To be made before the log is read: beside a running stage both grow.
    init(of log: LogDirectory, _ identity: LogIdentity) throws(EventLogError) {
        witnesses = try LostEnd.snapshots(log, identity) + LostEnd.indexes(log, identity)
    }

    /// Those that know more than the log has.
    func beyond(_ lastSequence: UInt64) -> [Witness] { witnesses.filter { $0.sequence > lastSequence } }

    /// Nil where none knows more than the log has.
    func problem(in file: String, at offset: UInt64, after lastSequence: UInt64) -> VerifyReport.Problem? {
        guard let best = beyond(lastSequence).max(by: { $0.sequence < $1.sequence }) else { return nil }
        let reason =
            "the log ends with sequence \(lastSequence), and \(best.file) was made when it had come to "
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
            // One is made only where there is a segment, which was begun for an event.
            let isOrphan = try OpenFile.ifPresent(log.segmentPath(first)) == nil
            witnesses.append(Witness(file: file.path, sequence: isOrphan ? max(first, last) : last))
        }
        return witnesses
    }
}

extension IndexHeader {
    /// The first sequence of the segment, and the last one of the blocks that are right in themselves and follow each other from the beginning.
    ///
    /// - Parameter file: One whose header is right.
    fileprivate static func sequences(of file: OpenFile) throws(EventLogError) -> (first: UInt64, last: UInt64)? {
        let bytes = try file.contents(bytesMax: IndexFormat.headerBytes)
        let mark = mark(ofEncoded: bytes)
        let first = unsafe bytes.withUnsafeBytes { unsafe $0.word(40, UInt64.self) }
        var next = first
        guard first > 0 else { return nil }
        var position = UInt64(IndexFormat.headerBytes)
        while let head = try head(in: file, at: position, mark), head.firstSequence == next {
            next = head.nextSequence
            position += UInt64(head.fileBytes)
        }
        return (first, next - 1)
    }

    private static func head(in file: OpenFile, at position: UInt64, _ mark: UInt64) throws(EventLogError) -> BlockHead?
    {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: IndexFormat.headBytes, alignment: 8)
        defer { unsafe buffer.deallocate() }
        let count = try unsafe file.read(into: buffer, at: position)
        return unsafe BlockHead(UnsafeRawBufferPointer(rebasing: buffer[..<count]), mark: mark)
    }
}
