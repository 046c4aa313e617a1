import Time

/// Consecutive batches of one segment, with a filter for their keys.
struct IndexBlock: Sendable {
    enum Filter: Sendable {
        /// In an index file, at this offset.
        case file(OpenFile, offset: UInt64)
        case memory([UInt8])
    }

    var head: BlockHead
    var filter: Filter

    func query(_ key: UInt64, digest: UInt64) -> BlockFilter.Answer {
        let line = BlockFilter.line(of: key, among: head.filterLines)
        let salt = head.salt(digest)
        switch filter {
        case .memory(let bytes):
            return unsafe bytes.withUnsafeBytes { bytes in
                let start = line * BlockFilter.lineBytes
                let lineBytes = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<start + BlockFilter.lineBytes])
                return unsafe BlockFilter.query(key, in: lineBytes, line: line, salt: salt)
            }
        case .file(let file, let offset):
            return unsafe withUnsafeTemporaryAllocation(byteCount: BlockFilter.lineBytes, alignment: 8) { buffer in
                let count = unsafe read(file, at: offset + UInt64(line * BlockFilter.lineBytes), into: buffer)
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
                return unsafe BlockFilter.query(key, in: bytes, line: line, salt: salt)
            }
        }
    }

    /// Returns the number of bytes read; 0 after an error, so that the line counts as damaged.
    private func read(_ file: OpenFile, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        do throws(EventLogError) { return try unsafe file.read(into: buffer, at: offset) } catch { return 0 }
    }
}

/// Collects batches for a block.
@safe struct BlockBuilder {
    private let limits: BlockLimits
    private let digest: UInt64
    private let extract: KeyScheme.Extractor
    private var keys = KeySet()
    private var found: [UInt64] = []
    private var head: BlockHead?
    private var last: FixedHeader?

    init(limits: BlockLimits, digest: UInt64, extract: @escaping KeyScheme.Extractor) {
        self.limits = limits
        self.digest = digest
        unsafe self.extract = extract
    }

    /// - Parameter nowBefore: The segment's `now` before this batch.
    mutating func add(_ batch: SegmentBatch, at offset: UInt64, nowBefore: Instant) {
        var head =
            unsafe head
            ?? BlockHead(
                filterLines: 0, firstSequence: batch.header.firstSequence, count: 0, lastBatchCRC: 0, offset: offset,
                bytes: 0, lastBatchOffset: offset, nowBefore: nowBefore, now: nowBefore)
        unsafe head.count += batch.header.count
        unsafe head.bytes += UInt64(batch.fixed.batchBytes)
        head.lastBatchOffset = offset
        head.now = unsafe batch.header.now
        self.head = head
        last = unsafe batch.fixed
        unsafe addKeys(of: batch.body)
    }

    var isFull: Bool { head.map { $0.count >= limits.events || $0.bytes >= UInt64(limits.bytes) } ?? false }

    /// Returns the block and begins a new one; nil without batches.
    mutating func finish() -> IndexBlock? {
        guard var head, let last else { return nil }
        self.head = nil
        head.lastBatchCRC = last.headerCRC
        let filter = BlockFilter.bytes(for: keys.keys, salt: head.salt(digest))
        keys.removeAll()
        head.filterLines = filter.count / BlockFilter.lineBytes
        return IndexBlock(head: head, filter: .memory(filter))
    }

    private mutating func addKeys(of body: UnsafeRawBufferPointer) {
        var start = 0
        while let end = unsafe EventLines.end(ofLineAt: start, in: body) {
            found.removeAll(keepingCapacity: true)
            unsafe extract(UnsafeRawBufferPointer(rebasing: body[start..<end - 1]), &found)
            for key in found { keys.insert(key) }
            start = end
        }
    }
}

extension FixedHeader {
    /// The header's own CRC, as stored in the log.
    var headerCRC: UInt32 {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return unsafe bytes.withUnsafeBytes { unsafe $0.word(8, UInt32.self) }
    }
}
