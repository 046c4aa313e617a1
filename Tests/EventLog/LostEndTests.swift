import Foundation
import Testing
import Time

@testable import EventLog

/// Logs whose last events are lost. The log alone looks sound or torn, but a snapshot or an index file shows the loss.
@Suite struct LostEndTests {
    private let now = Instant(microseconds: 1_763_631_000_000_000)

    /// Ten batches with one event each, in several segments.
    private func writeLog(in scratch: Scratch) throws {
        let writer = try scratch.writer(segmentBytesMax: 300)
        for number in 1...10 { try writer.append([event(number)]) }
        try writer.close()
    }

    private func addSnapshot(_ scratch: Scratch, at sequence: UInt64, of name: String = "matches") throws {
        let identity = LogIdentity(seed: "test", name: name)
        let header = SnapshotHeader(
            stage: "match", version: 1, log: identity, upstream: LogIdentity(seed: "test", name: "changes"),
            cursor: Cursor(["changes": sequence]), sequence: sequence, now: .epoch)
        try SnapshotStore(logDirectory: scratch.log).write(header, state: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private func addIndex(_ scratch: Scratch) throws {
        let scheme = KeyScheme(name: "test", version: 1, makeExtractor: { { _, _ in } })
        try LogIndex(directory: scratch.log, scheme: scheme, limits: BlockLimits(events: 1)).update()
    }

    @Test(arguments: ["snapshot", "index"], [0, 100])
    func `a snapshot or index from later events proves that the log has lost its end`(witness: String, bytesKept: Int)
        throws
    {
        let scratch = Scratch()
        try writeLog(in: scratch)
        if witness == "index" { try addIndex(scratch) } else { try addSnapshot(scratch, at: 10) }
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
        let last = try #require(try scratch.facts().last)
        // Empties the last segment, or cuts it inside the batch after its opening. Without the snapshot or index, a log
        // with an empty last segment would look sound, and a log with a cut last segment would look torn.
        try write(Array(try bytes(of: last.path).prefix(bytesKept)), to: last.path)
        let report = try EventLogs.verify(directory: scratch.log)
        let problem = try #require(report.problems.first)
        #expect(!report.isSound && problem.file == last.path && problem.sequence == last.firstSequence)
        #expect(
            problem.reason.contains(
                "the log ends with sequence \(last.firstSequence - 1), but \(scratch.log)/\(witness)"))
        #expect(problem.reason.contains("had reached 10: \(11 - last.firstSequence) or more events are lost"))
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.knownThrough == 10 && repair.plan.derivedFiles.count == 1 && !repair.plan.isSound)
        _ = try repair.apply(at: now)
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
    }

    @Test func `an index file without its segment is reported`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        let scheme = KeyScheme(name: "test", version: 1, makeExtractor: { { _, _ in } })
        // The last segment's index file has a header but no blocks, because a block of the last segment is written only
        // when the block has 100 events.
        try LogIndex(directory: scratch.log, scheme: scheme, limits: BlockLimits(events: 100)).update()
        let last = try #require(try scratch.facts().last)
        try FileManager.default.removeItem(atPath: last.path)
        let report = try EventLogs.verify(directory: scratch.log)
        #expect(report.problems.first?.reason.contains("/index/") == true, "\(report)")
        _ = try LogRepair(directory: scratch.log).apply(at: now)
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
    }

    @Test func `snapshots of another log or of the last event do not prove a lost end`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        try addSnapshot(scratch, at: 10)
        try addSnapshot(scratch, at: 12, of: "others")
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
        #expect(try LogRepair(directory: scratch.log).plan.isSound)
    }
}
