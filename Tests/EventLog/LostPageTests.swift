import Testing

@testable import EventLog

/// After a power failure a file may have its full length, but pages of it may never have been written.
@Suite struct LostPageTests {
    private let pageBytes = 4096

    /// Writes batches with one event each. By default the last event extends over several pages, and the last batch
    /// does not begin at a page's edge.
    ///
    /// - Returns: The path of the segment, and the offset of the last batch.
    private func writeLog(
        in scratch: Scratch, paddings: [Int] = [100, 2000, 15_000]
    ) throws -> (path: String, last: Int) {
        let writer = try scratch.writer()
        var last = 0
        for (index, padding) in paddings.enumerated() {
            if index == paddings.count - 1 { last = try bytes(of: scratch.segments[0]).count }
            try writer.append([event(index + 1, padding: padding)], cursor: Cursor(["a": UInt64(index + 1)]))
        }
        try writer.close()
        return (try #require(try scratch.segments.first), last)
    }

    private func expectTorn(_ scratch: Scratch, _ bytes: [UInt8], at last: Int, _ comment: Comment) throws {
        let path = try scratch.segments[0]
        try write(bytes, to: path)
        #expect(try EventLogs.verify(directory: scratch.log).problems == [], comment)
        #expect(try EventLogs.verify(directory: scratch.log).tornTail?.offset == UInt64(last), comment)
        #expect(try EventLogReader.all(scratch.log).count == 2, comment)
        #expect(try scratch.writer().recovery?.bytesCut == UInt64(bytes.count - last), comment)
        #expect(try scratch.writer().lastSequence == 2, comment)
    }

    @Test func `a last batch with pages that were never written is torn`() throws {
        let scratch = Scratch()
        let (path, last) = try writeLog(in: scratch)
        let whole = try bytes(of: path)
        let pages = last / pageBytes...(whole.count - 1) / pageBytes
        for lost in 1..<(1 << pages.count) {
            var torn = whole
            for (index, page) in pages.enumerated() where lost >> index & 1 == 1 {
                for byte in max(page * pageBytes, last)..<min((page + 1) * pageBytes, whole.count) { torn[byte] = 0 }
            }
            try expectTorn(scratch, torn, at: last, "pages \(String(lost, radix: 2))")
        }
    }

    @Test func `zeros after the last batch are a torn tail, like space that was allocated in advance`() throws {
        let scratch = Scratch()
        let (path, last) = try writeLog(in: scratch)
        let whole = try bytes(of: path)
        for count in [1, 63, 64, 65, 4096, 100_000] {
            let ahead = Array(whole[..<last]) + [UInt8](repeating: 0, count: count)
            try expectTorn(scratch, ahead, at: last, "\(count) zeros")
        }
    }

    /// Moves the last batch's header over the edge between two pages, and loses the batch's bytes before or after the
    /// edge.
    @Test func `a last batch whose header is on two pages is torn if one of the pages is missing`() throws {
        for bytesBeforeEdge in 0...70 {
            let scratch = Scratch()
            // If the paddings were empty strings, this many bytes would precede the last batch: the opening, then two
            // headers, cursors and lines.
            let start = 3 * 64 + 2 * 11 + 2 * #"{"n":1,"p":""}"#.count + 2
            let padding = pageBytes - start - 100 - bytesBeforeEdge
            let (path, last) = try writeLog(in: scratch, paddings: [100, padding, 300])
            let whole = try bytes(of: path)
            try #require(last == pageBytes - bytesBeforeEdge)
            let secondLost = Array(whole[..<pageBytes]) + [UInt8](repeating: 0, count: whole.count - pageBytes)
            try expectTorn(scratch, secondLost, at: last, "the second half, \(bytesBeforeEdge)")
            let firstLost = whole[..<last] + [UInt8](repeating: 0, count: bytesBeforeEdge) + whole[pageBytes...]
            if bytesBeforeEdge > 0 {
                try expectTorn(scratch, Array(firstLost), at: last, "the first half, \(bytesBeforeEdge)")
            }
        }
    }

    @Test func `zeros that are not a whole page are damage`() throws {
        let scratch = Scratch()
        let (path, last) = try writeLog(in: scratch)
        let whole = try bytes(of: path)
        for range in [last..<last + 64, last + 64..<last + 75, last + 100..<last + 2000, whole.count - 9..<whole.count]
        {
            var zeroed = whole
            for byte in range { zeroed[byte] = 0 }
            try write(zeroed, to: path)
            #expect(throws: EventLogError.self) { try scratch.writer() }
            #expect(try EventLogs.verify(directory: scratch.log).problems.first?.offset == UInt64(last))
        }
    }

    @Test func `a page of zeros before an intact batch is damage`() throws {
        let scratch = Scratch()
        let (path, _) = try writeLog(in: scratch, paddings: [100, 15_000, 100])
        var zeroed = try bytes(of: path)
        for byte in pageBytes..<2 * pageBytes { zeroed[byte] = 0 }
        try write(zeroed, to: path)
        #expect(throws: EventLogError.self) { try scratch.writer() }
        let report = try EventLogs.verify(directory: scratch.log)
        #expect(report.problems.map(\.sequence) == [2] && report.tornTail == nil)
    }

    @Test func `foreign text at the end of a segment is damage`() throws {
        let scratch = Scratch()
        let (path, _) = try writeLog(in: scratch)
        let whole = try bytes(of: path)
        for text in ["x", "not a batch", String(repeating: "garbage ", count: 1000)] {
            try write(whole + Array(text.utf8), to: path)
            #expect(throws: EventLogError.self) { try scratch.writer() }
            #expect(try EventLogs.verify(directory: scratch.log).problems.map(\.offset) == [UInt64(whole.count)])
        }
    }
}
