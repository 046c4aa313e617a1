import Glibc
import Time

/// The index of one segment: blocks from its beginning to its end.
struct SegmentIndex: Sendable {
    let header: IndexHeader
    /// The segment's blocks. If the segment still grows, a last block that is not full is only in memory.
    private(set) var blocks: [IndexBlock] = []
    /// Whether the segment no longer grows, and ``blocks`` cover all of it.
    private(set) var isComplete = false
    let digest: UInt64

    var first: UInt64 { header.segment }
    var end: UInt64 { blocks.last?.head.end ?? 0 }
    var nextSequence: UInt64 { blocks.last?.head.nextSequence ?? first }

    init(_ header: IndexHeader) {
        self.header = header
        digest = header.digest
    }
}

extension SegmentIndex {
    /// What an index is made from: a log, and the scheme of the keys.
    struct Source: Sendable {
        let log: LogDirectory
        let identity: LogIdentity
        let scheme: KeyScheme
        /// Whether index files are read and written.
        let usesFiles: Bool

        func indexPath(_ first: UInt64) -> String {
            let name = log.segmentPath(first).dropFirst(log.path.utf8.count + 1).dropLast("log".count)
            return "\(log.path)/\(IndexFormat.folder)/\(name)index"
        }
    }

    /// Indexes the segment up to its end.
    ///
    /// - Parameters:
    ///   - isLast: Whether the segment may still grow.
    ///   - progress: Called with the number of bytes indexed since the last call.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` if the segment is damaged;
    ///   ``EventLogError/failed(operation:file:errno:)`` with `ENOENT` if the segment no longer exists.
    mutating func update(_ source: Source, isLast: Bool, progress: (UInt64) -> Void) throws(EventLogError) {
        let segment = try OpenFile(source.log.segmentPath(first), O_RDONLY)
        let (size, isCurrent) = (try segment.size(), try isUnchanged(segment))
        if isComplete, isCurrent, size == end { return progress(end) }
        var file = source.usesFiles ? IndexFile(source.indexPath(first), header) : nil
        try load(&file, segment)
        progress(end)
        try extend(segment, source, &file, isLast: isLast, progress)
        file?.finish()
    }

    /// Loads the blocks from the file, and keeps the blocks that are only in memory. If the index is incomplete, its
    /// last block is not kept. Drops all blocks if the segment has changed.
    private mutating func load(_ file: inout IndexFile?, _ segment: OpenFile) throws(EventLogError) {
        // The last block of an incomplete index is usually not full. It is small, so it is made again.
        let kept = isComplete ? blocks : blocks.dropLast()
        blocks = file?.blocks(first: first) ?? []
        for block in kept.dropFirst(blocks.count) {
            guard case .memory = block.filter, block.head.offset == end else { break }
            blocks.append(file?.append(block) ?? block)
        }
        isComplete = false
        if try isUnchanged(segment) { return }
        blocks = []
        file?.restart()
    }

    /// Whether the last indexed batch is still at its offset. A segment only grows, or is cut off at its end.
    private func isUnchanged(_ segment: OpenFile) throws(EventLogError) -> Bool {
        guard let last = blocks.last?.head else { return true }
        var crc: UInt32 = 0
        let count = try unsafe withUnsafeMutableBytes(of: &crc) { buffer throws(EventLogError) in
            try unsafe segment.read(into: buffer, at: last.lastBatchOffset + 8)
        }
        let size = try segment.size()
        return count == 4 && UInt32(littleEndian: crc) == last.lastBatchCRC && size >= last.end
    }

    private mutating func extend(
        _ segment: OpenFile, _ source: Source, _ file: inout IndexFile?, isLast: Bool, _ progress: (UInt64) -> Void
    ) throws(EventLogError) {
        let reader = reader(of: segment, source)
        var builder = unsafe BlockBuilder(limits: header.limits, digest: digest, extract: source.scheme.makeExtractor())
        var reported = reader.offset
        loop: while true {
            switch try unsafe reader.peek() {
            case .batch(let batch):
                unsafe builder.add(batch, at: reader.offset, nowBefore: reader.lastNow)
                unsafe reader.consume(batch)
                guard builder.isFull, let block = builder.finish() else { continue }
                blocks.append(file?.append(block) ?? block)
                progress(reader.offset - reported)
                reported = reader.offset
            case .unfinished(let reason) where !isLast: throw reader.damaged("\(reason), but a later segment exists")
            case .end, .unfinished: break loop
            }
        }
        if let rest = builder.finish() { blocks.append(isLast ? rest : file?.append(rest) ?? rest) }
        isComplete = !isLast
        progress(reader.offset - reported)
    }

    private func reader(of segment: OpenFile, _ source: Source) -> SegmentReader {
        let last = blocks.last?.head
        return SegmentReader(
            segment, first: first, identity: source.identity, lastNow: last?.now ?? .epoch,
            start: last.map { ($0.end, $0.nextSequence) })
    }
}
