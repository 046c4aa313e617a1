import Foundation
import TestSupport
import Testing
import Time

@testable import EventLog

@Suite struct RepairTests {
    private let now = Instant(microseconds: 1_000_000)

    /// Twenty events in several segments.
    private func writeLog(
        in scratch: Scratch, name: String = "matches", upstream: UpstreamNote? = nil
    ) throws -> [ModelBatch] {
        var options = scratch.options(segmentBytesMax: 600)
        options.name = name
        options.identity = LogIdentity(seed: "test", name: name)
        let writer = try EventLogWriter(options)
        for number in 1...20 {
            let cursor = Cursor([upstream?.log ?? "producer": UInt64(number)])
            try writer.append([event(number, padding: 90)], cursor: cursor, now: Int64(number))
        }
        try writer.close()
        if let upstream { try write(Array(upstream.text.utf8), to: options.logDirectory + "/upstream.json") }
        return try EventLogReader.all(options.logDirectory)
    }

    /// Damages a random byte. The events before it must be kept, and a writer must be able to continue the log.
    @Test func `a repair keeps the events before the damage`() throws {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        for _ in 0..<60 {
            let scratch = Scratch()
            let batches = try writeLog(in: scratch)
            let path = random.one(of: try scratch.segments)
            var damaged = try bytes(of: path)
            damaged[random.below(damaged.count)] ^= 1 << random.below(8)
            try write(damaged, to: path)
            try check(scratch, batches, "BELFRY_SEED=\(seed)")
        }
    }

    private func check(_ scratch: Scratch, _ batches: [ModelBatch], _ seed: Comment) throws {
        let before = try Dictionary(uniqueKeysWithValues: scratch.segments.map { ($0, try bytes(of: $0)) })
        let plan = try LogRepair(directory: scratch.log).plan
        #expect(plan.damage == (try EventLogs.verify(directory: scratch.log).problems.first), seed)
        #expect(
            try scratch.segments.allSatisfy { try bytes(of: $0) == before[$0] }, "making the plan changed a segment")
        let copy = try #require(try LogRepair(directory: scratch.log).apply(at: now), seed)
        #expect(copy == scratch.log + "/damaged-1970-01-01T00:00:01Z")
        #expect(
            plan.cuts.allSatisfy { cut in
                let name = cut.file.split(separator: "/").last ?? ""
                return (try? bytes(of: "\(copy)/\(name)")) == before[cut.file]
            }, seed)
        #expect(try EventLogs.verify(directory: scratch.log).isSound, seed)
        let kept = try EventLogReader.all(scratch.log)
        #expect(kept == Array(batches.prefix(kept.count)) && kept.count == Int(plan.keptThrough), seed)
        #expect(plan.damage?.sequence == plan.keptThrough + 1, seed)
        #expect(plan.lostThrough == 20 || plan.keptThrough == 19, seed)
        #expect(plan.bytesLost == UInt64(before.values.reduce(0) { $0 + $1.count }) - (try keptBytes(scratch)), seed)
        let writer = try scratch.writer(segmentBytesMax: 600)
        #expect(writer.lastSequence == plan.keptThrough && writer.cursor == (kept.last?.cursor ?? Cursor()), seed)
        try writer.append([event(0)], now: 100)
        #expect(try EventLogReader.all(scratch.log).count == kept.count + 1, seed)
    }

    private func keptBytes(_ scratch: Scratch) throws -> UInt64 {
        try scratch.segments.reduce(0) { $0 + UInt64(try bytes(of: $1).count) }
    }

    @Test func `a repaired log ends before a missing segment`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        let facts = try scratch.facts()
        try #require(unlinkSucceeds(facts[2].path))
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.keptThrough == facts[1].lastSequence && repair.plan.lostThrough == 20)
        #expect(repair.plan.cuts.map(\.file) == facts[3...].map(\.path))
        #expect(repair.plan.cuts.allSatisfy { $0.bytesKept == nil })
        _ = try repair.apply(at: now)
        #expect(try EventLogReader.all(scratch.log) == Array(batches.prefix(Int(facts[1].lastSequence))))
    }

    @Test func `a sound log is not changed`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.isSound)
        #expect(try repair.apply(at: now) == nil)
        #expect(try EventLogReader.all(scratch.log) == batches)
    }

    @Test func `a repair cuts off a torn tail`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        let path = try #require(try scratch.segments.last)
        try #require(truncateSucceeds(path, to: bytes(of: path).count - 3))
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.damage == nil && repair.plan.tornTail?.sequence == 20 && repair.plan.keptThrough == 19)
        _ = try repair.apply(at: now)
        #expect(try EventLogReader.all(scratch.log) == Array(batches.dropLast()))
    }

    @Test func `a log that a stage has open is not repaired, and the error names the log and the process`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        #expect(throws: EventLogError.alreadyOpen(name: "matches", directory: scratch.log, process: processNumber())) {
            try LogRepair(directory: scratch.log)
        }
        try writer.close()
    }

    @Test func `a folder that is not a log is not repaired`() throws {
        let scratch = Scratch()
        _ = try scratch.writer()
        #expect(throws: EventLogError.notALog(directory: scratch.path)) { try LogRepair(directory: scratch.path) }
    }

    @Test func `a repair moves away snapshots and indexes of lost events, and reports the events' consumers`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        let note = UpstreamNote(log: "matches", identity: LogIdentity(seed: "test", name: "matches"))
        _ = try writeLog(in: scratch, name: "notifications", upstream: note)
        let facts = try scratch.facts()
        let cut = facts[2]
        for folder in ["snapshots", "index"] {
            try FileManager.default.createDirectory(
                atPath: scratch.log + "/" + folder, withIntermediateDirectories: true)
        }
        let (keptSnapshot, lostSnapshot) = ("/snapshots/2-1.snapshot", "/snapshots/\(cut.lastSequence)-1.snapshot")
        let (keptIndex, lostIndex) = ("/index/1.index", "/index/\(cut.firstSequence).index")
        for name in [keptSnapshot, lostSnapshot, keptIndex, lostIndex] { try write([1], to: scratch.log + name) }
        var damaged = try bytes(of: cut.path)
        damaged[200] ^= 1
        try write(damaged, to: cut.path)
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.derivedFiles == [lostSnapshot, lostIndex].map { scratch.log + $0 })
        #expect(repair.plan.consumersBeyond == [.init(name: "notifications", lastProcessed: 20)])
        let copy = try #require(try repair.apply(at: now))
        #expect(try EventLogs.list(in: scratch.path).count == 2)
        let moved = try FileManager.default.contentsOfDirectory(atPath: copy)
        #expect(moved.contains("\(cut.lastSequence)-1.snapshot") && moved.contains("\(cut.firstSequence).index"))
        for name in [lostSnapshot, lostIndex] {
            #expect(!FileManager.default.fileExists(atPath: scratch.log + name), "\(name) is still there")
        }
        for name in [keptSnapshot, keptIndex] { #expect(try bytes(of: scratch.log + name) == [1]) }
    }

    @Test func `a manifest is rebuilt only if another file has the log's identity`() throws {
        for damage in [nil, "nonsense"] as [String?] {
            let scratch = Scratch()
            let batches = try writeLog(in: scratch)
            let manifest = scratch.log + "/log.json"
            let whole = try bytes(of: manifest)
            if let damage {
                try write(Array(damage.utf8), to: manifest)
            } else {
                try #require(unlinkSucceeds(manifest))
            }
            let error = #expect(throws: EventLogError.self) { try LogRepair(directory: scratch.log) }
            #expect(error?.description.contains("restore log.json from a copy") == true)
            let note = UpstreamNote(log: "matches", identity: LogIdentity(seed: "test", name: "matches"))
            _ = try writeLog(in: scratch, name: "notifications", upstream: note)
            let repair = try LogRepair(directory: scratch.log)
            #expect(repair.plan.manifestProblem != nil && repair.plan.cuts.isEmpty)
            _ = try repair.apply(at: now)
            #expect(try bytes(of: manifest) == whole)
            #expect(try EventLogReader.all(scratch.log) == batches)
        }
    }

    /// With one wrong digit in `log.json`, every segment looks like a segment of another log.
    @Test func `a repair of a wrong identity in the manifest cuts no segment`() throws {
        for source in ["nothing", "reader", "snapshot", "index"] {
            let scratch = Scratch()
            let batches = try writeLog(in: scratch)
            let manifest = scratch.log + "/log.json"
            let whole = try bytes(of: manifest)
            let identity = LogIdentity(seed: "test", name: "matches")
            switch source {
            case "reader":
                let note = UpstreamNote(log: "matches", identity: identity)
                _ = try writeLog(in: scratch, name: "notifications", upstream: note)
            case "snapshot":
                let header = SnapshotHeader(
                    stage: "match", version: 1, log: identity, upstream: identity, cursor: Cursor(["changes": 1]),
                    sequence: 1, now: .epoch)
                try SnapshotStore(logDirectory: scratch.log).write(
                    header, state: UnsafeRawBufferPointer(start: nil, count: 0))
            case "index":
                let scheme = KeyScheme(name: "test", version: 1, makeExtractor: { { _, _ in } })
                let index = try LogIndex(directory: scratch.log, scheme: scheme, limits: BlockLimits(events: 1))
                try index.update()
            default: break
            }
            let digit = whole.count - 5
            try write(whole.replacing(digit, with: whole[digit] == 0x30 ? 0x31 : 0x30), to: manifest)
            let report = try EventLogs.verify(directory: scratch.log)
            #expect(report.problems.map(\.file) == [manifest])
            guard source != "nothing" else {
                let error = #expect(throws: EventLogError.self) { try LogRepair(directory: scratch.log) }
                #expect(error?.description.hasPrefix("\(manifest) is damaged") == true)
                continue
            }
            let repair = try LogRepair(directory: scratch.log)
            #expect(
                repair.plan.cuts.isEmpty && repair.plan.manifestProblem?.contains("gives the identity") == true,
                "\(source)")
            let copy = try #require(try repair.apply(at: now))
            #expect(try bytes(of: manifest) == whole && bytes(of: copy + "/log.json") != whole)
            #expect(try EventLogReader.all(scratch.log) == batches)
        }
    }

    @Test(arguments: [(1, 0), (0, 1), (3, 3)])
    func `a repair removes the settings of the part that it cuts off`(after: UInt64, now later: UInt64) throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch, upstream: UpstreamNote(log: "changes", identity: .random()))
        let cut = try scratch.facts()[2]
        func line(_ after: UInt64, _ now: UInt64) -> String {
            #"{"after":\#(after),"now":\#(now),"kind":"match","settings":{}}"# + "\n"
        }
        let (end, path) = (cut.firstSequence - 1, scratch.log + "/settings.ndjson")
        let kept = Array((line(0, 0) + line(end, end)).utf8)
        let all = kept + Array(line(end + after, end + later).utf8)
        try write(all, to: path)
        let segment = try bytes(of: cut.path)
        try write(segment.replacing(200, with: segment[200] ^ 1), to: cut.path)
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.keptThrough == end && repair.plan.settingsLost == 1)
        let copy = try #require(try repair.apply(at: now))
        #expect(try bytes(of: path) == kept && bytes(of: copy + "/settings.ndjson") == all)
    }

    @Test func `a log whose beginning is missing is not taken for a trimmed log`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        let facts = try scratch.facts()
        try scratch.trim(before: facts[1].firstSequence)
        #expect(try EventLogs.missingStart(directory: scratch.log) == nil)
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
        try #require(unlinkSucceeds(facts[1].path))
        let missing = facts[1].firstSequence...facts[1].lastSequence
        #expect(try EventLogs.missingStart(directory: scratch.log) == missing)
        let problem = try #require(try EventLogs.verify(directory: scratch.log).problems.first)
        #expect(problem.sequence == missing.lowerBound && problem.file == facts[1].path)
        #expect(problem.reason.hasPrefix("sequences \(missing.lowerBound) to \(missing.upperBound) are missing"))
        let repair = try LogRepair(directory: scratch.log)
        #expect(repair.plan.missingAtStart == missing && repair.plan.cuts.isEmpty)
        _ = try repair.apply(at: now)
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
        #expect(try EventLogReader.all(scratch.log) == batches.filter { $0.first > missing.upperBound })
    }

    @Test func `a gap is reported with its first and last sequence`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        let gone = try scratch.facts()[2]
        try #require(unlinkSucceeds(gone.path))
        let text = "\(gone.firstSequence) to \(gone.lastSequence) are missing"
        #expect(try EventLogs.verify(directory: scratch.log).problems.first?.reason.hasSuffix(text) == true)
        #expect(
            #expect(throws: EventLogError.self) { try EventLogReader.all(scratch.log) }?.description.contains(text)
                == true)
    }

    @Test func `a trimmed log whose first batch is damaged cannot be repaired`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        try scratch.trim(before: 10)
        let first = try scratch.segments[0]
        var damaged = try bytes(of: first)
        damaged[20] ^= 1
        try write(damaged, to: first)
        #expect(throws: EventLogError.self) { try LogRepair(directory: scratch.log) }
        #expect(try bytes(of: first) == damaged)
    }
}

extension [UInt8] {
    fileprivate func replacing(_ index: Int, with byte: UInt8) -> [UInt8] {
        var bytes = self
        bytes[index] = byte
        return bytes
    }
}
