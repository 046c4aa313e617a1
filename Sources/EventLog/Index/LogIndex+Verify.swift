/// The result of a comparison of an index with its log.
package struct LogIndexReport: Hashable, Sendable {
    /// How many segments have an index file.
    package var segments = 0
    /// How many blocks of the index files are right.
    package var blocks = 0
    /// How many events these blocks cover.
    package var events: UInt64 = 0
    /// The first difference in each index file. The rest of that file is not compared.
    package var problems: [VerifyReport.Problem] = []

    package var isSound: Bool { problems.isEmpty }
}

extension LogIndex {
    /// Makes the index again in memory, and compares it with the index files byte for byte. Changes nothing.
    ///
    /// A missing file is no problem, and neither is a file that lacks the segment's last blocks: the next update adds
    /// what is missing.
    ///
    /// - Parameter directory: The log's own folder.
    /// - Throws: Errors that prevent reading the log.
    package static func verify(
        directory: String, scheme: KeyScheme, limits: BlockLimits = BlockLimits()
    ) throws(EventLogError) -> LogIndexReport {
        let fresh = try LogIndex(directory: directory, scheme: scheme, usesFiles: false, limits: limits)
        try fresh.update()
        var report = LogIndexReport()
        for segment in fresh.segments {
            if let file = try OpenFile.ifPresent(fresh.source.indexPath(segment.first)) {
                try report.compare(file, with: segment)
            }
        }
        return report
    }
}

extension LogIndexReport {
    fileprivate mutating func compare(_ file: OpenFile, with segment: SegmentIndex) throws(EventLogError) {
        segments += 1
        let (size, header) = (try file.size(), segment.header.encoded)
        // The process that created this file was interrupted before it had written the header.
        if size < UInt64(header.count) { return }
        guard try file.bytes(header.count, at: 0) == header else {
            return note(file, 0, segment.first, "the header belongs to another log or another build, or is damaged")
        }
        var position = UInt64(header.count)
        for block in segment.blocks where position < size {
            guard case .memory(let filter) = block.filter else { continue }
            let expected = block.head.encoded(digest: segment.digest) + filter
            guard try file.bytes(expected.count, at: position) == expected else {
                return note(file, position, block.head.firstSequence, "the block differs from the log's events")
            }
            position += UInt64(expected.count)
            blocks += 1
            events += UInt64(block.head.count)
        }
        if position < size {
            note(file, position, segment.nextSequence, "the index file has blocks after the segment's last event")
        }
    }

    private mutating func note(_ file: OpenFile, _ offset: UInt64, _ sequence: UInt64, _ reason: String) {
        problems.append(VerifyReport.Problem(file: file.path, offset: offset, sequence: sequence, reason: reason))
    }
}
