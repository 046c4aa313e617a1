import Glibc

/// What a comparison of an index with its log found.
package struct LogIndexReport: Hashable, Sendable {
    /// Segments that have a file of the index.
    package var segments = 0
    /// Blocks compared, and their events.
    package var blocks = 0
    package var events: UInt64 = 0
    /// What differs: the file of the index, the offset in it, and the first event that the block stands for.
    package var problems: [VerifyReport.Problem] = []

    package var isSound: Bool { problems.isEmpty }
}

extension LogIndex {
    /// Compares the files of an index with the log, byte for byte, by making the index again.
    ///
    /// What is missing is no problem: an index is made when it is needed. Nothing is changed.
    ///
    /// - Parameter directory: The log's own folder.
    /// - Throws: What keeps the log from being read; damage to it is for ``EventLogs/verify(directory:progress:)``.
    package static func verify(directory: String, scheme: KeyScheme) throws(EventLogError) -> LogIndexReport {
        try verify(directory: directory, scheme: scheme, limits: BlockLimits())
    }

    package static func verify(directory: String, scheme: KeyScheme, limits: BlockLimits) throws(EventLogError)
        -> LogIndexReport
    {
        let fresh = try LogIndex(directory: directory, scheme: scheme, usesFiles: false, limits: limits)
        try fresh.update()
        var report = LogIndexReport()
        for segment in fresh.segments {
            let place = SegmentIndex.Place(
                log: fresh.log, identity: fresh.identity, scheme: scheme, usesFiles: true)
            if let file = try OpenFile.ifPresent(place.indexPath(segment.first)) {
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
        // Where a first block ended before it was whole, as when making the file was interrupted.
        if size < UInt64(header.count) { return }
        guard try file.bytes(header.count, at: 0) == header else {
            return note(file, 0, segment.first, "the header is another log's, another build's, or damaged")
        }
        var position = UInt64(header.count)
        for block in segment.blocks where position < size {
            guard case .memory(let filter) = block.filter else { continue }
            let expected = block.head.encoded(mark: segment.mark) + filter
            guard try file.bytes(expected.count, at: position) == expected else {
                return note(file, position, block.head.firstSequence, "the block differs from the log's events")
            }
            position += UInt64(expected.count)
            blocks += 1
            events += UInt64(block.head.count)
        }
        if position < size { note(file, position, segment.nextSequence, "more blocks than the log has events") }
    }

    private mutating func note(_ file: OpenFile, _ offset: UInt64, _ sequence: UInt64, _ reason: String) {
        problems.append(VerifyReport.Problem(file: file.path, offset: offset, sequence: sequence, reason: reason))
    }
}

extension OpenFile {
    /// As many bytes as asked for, or fewer where the file ends.
    fileprivate func bytes(_ count: Int, at offset: UInt64) throws(EventLogError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        defer { unsafe buffer.deallocate() }
        return try unsafe Array(buffer[..<read(into: buffer, at: offset)])
    }
}
