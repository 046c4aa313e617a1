extension LogIndex {
    /// Calls `body` with each event that has all of the keys, in log order or newest first, until `body`
    /// returns false.
    ///
    /// Reads only the blocks that may have the keys, and checks the CRCs of their batches.
    ///
    /// - Parameter keys: Hashes from the scheme's extractor. Another key may have the same hash, so `body` must check
    ///   the event.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)``;
    ///   ``EventLogError/failed(operation:file:errno:)`` if a segment was removed after the update.
    package func find(
        _ keys: [UInt64], in range: ClosedRange<UInt64> = 1...UInt64.max, newestFirst: Bool = false,
        _ body: (LoggedEvent) -> Bool
    ) throws(EventLogError) {
        for segment in newestFirst ? segments.reversed() : segments {
            for block in newestFirst ? segment.blocks.reversed() : segment.blocks
            where block.head.overlaps(range) && keys.allSatisfy({ mayHold($0, block, of: segment) }) {
                let events = try events(with: keys, in: range, block, of: segment)
                for event in newestFirst ? events.reversed() : events {
                    guard body(event) else { return }
                }
            }
        }
    }

    /// The events that have a key, or another key with the same hash, in log order or newest first; at most `limit`.
    package func events(
        with key: UInt64, in range: ClosedRange<UInt64> = 1...UInt64.max, newestFirst: Bool = false, limit: Int = .max
    ) throws(EventLogError) -> [LoggedEvent] {
        var events: [LoggedEvent] = []
        guard limit > 0 else { return [] }
        try find([key], in: range, newestFirst: newestFirst) { event in
            events.append(event)
            return events.count < limit
        }
        return events
    }

    /// The event with a sequence; nil if the event was not in the log yet at the most recent update.
    ///
    /// - Throws: ``EventLogError/gone(directory:sequence:first:)``.
    package func event(at sequence: UInt64) throws(EventLogError) -> LoggedEvent? {
        guard sequence >= firstSequence else {
            throw .gone(directory: directory, sequence: sequence, first: firstSequence)
        }
        guard let segment = segments.last(where: { $0.first <= sequence }),
            let block = segment.blocks.last(whereSorted: { $0.head.firstSequence <= sequence })
        else { return nil }
        let reader = try reader(of: block, in: segment)
        while reader.offset < block.head.end, case .batch(let batch) = try unsafe reader.peek(withBody: false) {
            if unsafe sequence < batch.header.nextSequence { return try event(sequence, in: reader) }
            unsafe reader.consume(batch)
        }
        return nil
    }

    private func event(_ sequence: UInt64, in reader: SegmentReader) throws(EventLogError) -> LoggedEvent? {
        guard case .batch(let batch) = try unsafe reader.peek() else { return nil }
        let rest = unsafe EventLogReader.slice(batch.body, header: batch.header, from: sequence)
        guard let end = unsafe EventLines.end(ofLineAt: 0, in: rest) else { return nil }
        return unsafe LoggedEvent(
            sequence: sequence, now: batch.header.now, cursor: batch.header.cursor, line: Array(rest[..<(end - 1)]))
    }

    private func mayHold(_ key: UInt64, _ block: IndexBlock, of segment: SegmentIndex) -> Bool {
        switch block.query(key, digest: segment.digest) {
        case .no: return false
        case .maybe: return true
        case .damaged:
            discardIndexFile(ofSegment: segment.first)
            return true
        }
    }

    private func events(
        with wanted: [UInt64], in range: ClosedRange<UInt64>, _ block: IndexBlock, of segment: SegmentIndex
    ) throws(EventLogError) -> [LoggedEvent] {
        let reader = try reader(of: block, in: segment)
        var (events, keys) = ([LoggedEvent](), [UInt64]())
        while reader.offset < block.head.end, case .batch(let batch) = try unsafe reader.peek() {
            var (start, sequence) = unsafe (0, batch.header.firstSequence)
            while let end = unsafe EventLines.end(ofLineAt: start, in: batch.body) {
                let line = unsafe UnsafeRawBufferPointer(rebasing: batch.body[start..<end - 1])
                keys.removeAll(keepingCapacity: true)
                if range.contains(sequence) { unsafe extract(line, &keys) }
                if range.contains(sequence), wanted.allSatisfy(keys.contains) {
                    unsafe events.append(
                        LoggedEvent(
                            sequence: sequence, now: batch.header.now, cursor: batch.header.cursor, line: Array(line)))
                }
                (start, sequence) = (end, sequence + 1)
            }
            unsafe reader.consume(batch)
        }
        guard reader.offset == block.head.end else { throw reader.damaged("the log has become shorter") }
        return events
    }

    private func reader(of block: IndexBlock, in segment: SegmentIndex) throws(EventLogError) -> SegmentReader {
        try SegmentReader(
            source.log, segment.first, source.identity, lastNow: block.head.nowBefore,
            start: (block.head.offset, block.head.firstSequence))
    }
}

extension BlockHead {
    fileprivate func overlaps(_ range: ClosedRange<UInt64>) -> Bool {
        count > 0 && firstSequence <= range.upperBound && nextSequence > range.lowerBound
    }
}

extension [IndexBlock] {
    /// The last block for which `isBefore` is true. `isBefore` must be true for all blocks before that block.
    fileprivate func last(whereSorted isBefore: (IndexBlock) -> Bool) -> IndexBlock? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? self[low - 1] : nil
    }
}
