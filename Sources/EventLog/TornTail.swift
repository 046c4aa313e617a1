/// Distinguishes a torn last batch from damage.
///
/// A batch is appended with one `pwrite` or `pwritev`, so a crash leaves a file that ends inside the batch. After a
/// power failure the file may have its full length, but some pages were never written: they read as zeros, like space
/// that the file system allocated in advance. All other wrong bytes are damage.
extension SegmentReader {
    /// The wrong part of a batch.
    enum Suspect {
        /// Fewer bytes than a header has.
        case shortHeader([UInt8])
        case header
        /// The cursor or the events after an intact header.
        case content(FixedHeader, Range<UInt64>)
    }

    /// Why a wrong batch is torn; nil if it is damaged.
    ///
    /// If an intact batch follows, the wrong batch counts as damaged. Cutting it off as torn would also lose the events
    /// of the intact batch.
    func reasonForTear(_ suspect: Suspect) throws(EventLogError) -> String? {
        let (size, start) = (try file.size(), offset)
        let lost: Range<UInt64>?
        switch suspect {
        case .shortHeader(let bytes):
            let isBeginning = bytes.starts(with: BatchFormat.magicBytes.prefix(bytes.count))
            if isBeginning { return "only \(bytes.count) of a header's \(BatchFormat.headerBytes) bytes are there" }
            lost = try lostPage(start..<size, end: size, endsWithEvent: false)
        case .header:
            let end = start + UInt64(BatchFormat.headerBytes)
            lost = try lostPage(start..<end, end: size, endsWithEvent: false)
        case .content(let fixed, let part):
            let end = start + UInt64(fixed.batchBytes)
            lost = try lostPage(part, end: end, endsWithEvent: fixed.bodyBytes > 0)
        }
        guard let lost, try nextHeader(from: start + 1) == nil else { return nil }
        return "bytes \(lost.lowerBound) to \(lost.upperBound - 1) were never written"
    }

    /// The first page of zeros in a part of a batch. The result is clipped to the batch, which ends at `end`.
    ///
    /// - Parameter endsWithEvent: Whether the batch ends with the line of an event, in which no byte is zero.
    private func lostPage(
        _ part: Range<UInt64>, end: UInt64, endsWithEvent: Bool
    ) throws(EventLogError) -> Range<UInt64>? {
        let (size, pageBytes) = (try file.size(), TornBatch.pageBytes)
        for page in stride(from: part.lowerBound / pageBytes * pageBytes, to: part.upperBound, by: Int(pageBytes)) {
            let written = max(page, offset)..<min(page + pageBytes, size)
            let piece = written.lowerBound..<min(written.upperBound, end)
            let zerosProveLoss =
                piece.lowerBound == offset || endsWithEvent || piece.count > TornBatch.trailingZerosMax
            if zerosProveLoss, try isZero(written) { return piece }
        }
        return nil
    }

    private func isZero(_ range: Range<UInt64>) throws(EventLogError) -> Bool {
        let bytes = try unsafe bytes(range.count, at: range.lowerBound)
        return unsafe bytes.count == range.count && bytes.allSatisfy { $0 == 0 }
    }
}

private enum TornBatch {
    /// The unit in which Linux writes files to the disk.
    static let pageBytes: UInt64 = 4096

    /// An intact batch without events may end in up to this many zeros: the header's fields from `firstSequence` to the
    /// end, or the last entry of the cursor. So these zeros do not prove that a page was never written.
    static let trailingZerosMax = BatchFormat.headerBytes - 24
}

extension BatchFormat {
    /// The first bytes of every header.
    static var magicBytes: [UInt8] { unsafe withUnsafeBytes(of: magic.littleEndian) { unsafe Array($0) } }
}
