/// What a crash leaves behind a log's last whole batch, told apart from damage.
///
/// Bytes go to a file in one `pwritev` a batch, so a crash leaves a file that ends inside the batch. The loss of power
/// may also leave a file that was extended, while some of its pages never came: they read as zeros, and so does what
/// a file system allocates ahead. Everything else that is wrong was once right, and is damage.
extension SegmentReader {
    /// What was being written when the log stopped, as far as one can see.
    enum Suspect {
        /// Fewer bytes than a header has.
        case shortHeader([UInt8])
        /// Where a header should be.
        case header
        /// The cursor or the events behind a header that is right.
        case content(FixedHeader, Range<UInt64>)
    }

    /// Why a batch that is not right is a torn one; nil where it is damage.
    ///
    /// A batch that a right one follows is never torn: what was made durable after it would be lost with it.
    func tear(_ suspect: Suspect) throws(EventLogError) -> String? {
        let (size, start) = (try file.size(), offset)
        let lost: Range<UInt64>?
        switch suspect {
        case .shortHeader(let bytes):
            let isBeginning = bytes.starts(with: BatchFormat.magicBytes.prefix(bytes.count))
            if isBeginning { return "\(bytes.count) bytes of a header" }
            lost = try lostPage(start..<size, end: size, endsInLine: false)
        case .header:
            let end = start + UInt64(BatchFormat.headerBytes)
            lost = try lostPage(start..<end, end: size, endsInLine: false)
        case .content(let fixed, let part):
            let end = start + UInt64(fixed.batchBytes)
            lost = try lostPage(part, end: end, endsInLine: fixed.bodyBytes > 0)
        }
        guard let lost, try nextHeader(from: start + 1) == nil else { return nil }
        return "bytes \(lost.lowerBound) to \(lost.upperBound - 1) were never written"
    }

    /// The first page that reads as zeros and overlaps a part of a batch that ends at `end`, cut to the batch.
    private func lostPage(_ part: Range<UInt64>, end: UInt64, endsInLine: Bool) throws(EventLogError) -> Range<UInt64>?
    {
        let (size, pageBytes) = (try file.size(), TornBatch.pageBytes)
        for page in stride(from: part.lowerBound / pageBytes * pageBytes, to: part.upperBound, by: Int(pageBytes)) {
            let written = max(page, offset)..<min(page + pageBytes, size)
            let piece = written.lowerBound..<min(written.upperBound, end)
            let cannotBeZero =
                piece.lowerBound == offset || endsInLine || piece.count > TornBatch.trailingZerosMax
            if cannotBeZero, try isZero(written) { return piece }
        }
        return nil
    }

    private func isZero(_ range: Range<UInt64>) throws(EventLogError) -> Bool {
        let bytes = try unsafe bytes(range.count, at: range.lowerBound)
        return unsafe bytes.count == range.count && bytes.allSatisfy { $0 == 0 }
    }
}

private enum TornBatch {
    /// The unit in which Linux writes a file back.
    static let pageBytes: UInt64 = 4096

    /// A batch without events may rightly end in as many zeros: the header from the first sequence on, or the last
    /// entry of the cursor. So as many that are zero are no sign of a page that never came.
    static let trailingZerosMax = BatchFormat.headerBytes - 24
}

extension BatchFormat {
    /// The first bytes of every header.
    static var magicBytes: [UInt8] { unsafe withUnsafeBytes(of: magic.littleEndian) { unsafe Array($0) } }
}
