import EventLog
import Events
import Foundation
import Match
import PipelineKit
import PipelineRuntime
import Time

/// Matches changes against subscriptions, on one thread and with nothing around it.
///
/// Pairs are compared in the same run: those that the index finds, those of a look at every subscription, those found
/// while subscriptions are deleted and saved in between, after that, and those found from a snapshot.
struct MatchBench: Sendable {
    let subscriptions: MatchInput
    let changes: MatchInput
    /// How many changes are also matched by a look at every subscription.
    let scanned: Int
    /// Where the snapshot is written.
    let folder: String

    private static let passes = 9

    /// - Throws: ``ToolFailure`` with 65 where a subscription is there twice, with 70 where two ways find different pairs.
    func run() throws -> MatchMeasure {
        var measure = MatchMeasure(subscriptions: subscriptions.count, changes: changes.count)
        let before = MatchBench.memory
        var watchers = Watchers()
        measure.buildSeconds = try timed { try fill(&watchers) }
        guard watchers.count == subscriptions.count else {
            throw ToolFailure(
                .badData,
                "\(subscriptions.name): \(subscriptions.count.of("line")) of \(watchers.count.of("subscription")); to be "
                    + "measured, each is to be saved once")
        }
        measure.bytesEach = (MatchBench.memory - before) / Double(subscriptions.count)

        let pairs = try pairs(&watchers)
        (measure.pairs, measure.watched, measure.digest) = (pairs.pairs, pairs.watched, pairs.digest)
        measure.perSecond = try rate { try changes.readLines { _ = try watchers.count($1) } }
        measure.latency = try latency(&watchers)
        measure.scannedPerSecond = try scan(&watchers)
        try mix(&watchers, into: &measure)
        try check("after saves and deletes", self.pairs(&watchers), pairs)
        measure.snapshot = try snapshot(&watchers)
        try check("from a snapshot", self.pairs(&watchers), pairs)
        return measure
    }

    /// Writes a line `<index of the change, from 0> <subscription ID>` for each pair, sorted.
    func writePairs(to path: String) throws {
        var watchers = Watchers()
        try fill(&watchers)
        let text = try pairs(&watchers, MatchPairs(keepsText: true)).text
        do { try text.write(to: URL(fileURLWithPath: path)) } catch {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(error.localizedDescription)")
        }
    }

    private func fill(_ watchers: inout Watchers) throws { try subscriptions.readLines { try watchers.take($1) } }

    private func pairs(
        _ watchers: inout Watchers, _ empty: MatchPairs = MatchPairs(), of range: Range<Int>? = nil
    ) throws -> MatchPairs {
        var pairs = empty
        try changes.readLines(of: range) { index, line in
            try watchers.find(line) { pairs.add($0) }
            pairs.end(change: index)
        }
        return pairs
    }

    private func check(_ way: String, _ found: MatchPairs, _ expected: MatchPairs) throws {
        guard found.digest != expected.digest else { return }
        throw ToolFailure(
            .software,
            "\(way): \(found.pairs.of("pair")), \(found.digest), and not \(expected.pairs.of("pair")), \(expected.digest)"
        )
    }
}

// MARK: - Speed

extension MatchBench {
    /// Changes a second, the median of some passes.
    private func rate(_ pass: () throws -> Void) throws -> Double {
        let seconds = try (0..<MatchBench.passes).map { _ in try timed(pass) }.sorted()
        return Double(changes.count) / seconds[seconds.count / 2]
    }

    /// In nanoseconds; of some passes the one with the median 99th percentile.
    private func latency(_ watchers: inout Watchers) throws -> Percentiles {
        var passes: [Percentiles] = []
        for _ in 0..<MatchBench.passes { passes.append(try latencyOfPass(&watchers)) }
        return passes.sorted { $0.p99 < $1.p99 }[passes.count / 2]
    }

    private func latencyOfPass(_ watchers: inout Watchers) throws -> Percentiles {
        var all: [Int64] = []
        all.reserveCapacity(changes.count)
        try changes.readLines { _, line in
            let start = MatchBench.now
            _ = try watchers.count(line)
            all.append(MatchBench.now - start)
        }
        return Percentiles(all)
    }

    private func scan(_ watchers: inout Watchers) throws -> Double {
        var plain = PlainScan()
        try subscriptions.readLines { try plain.take($1) }
        let range = 0..<min(scanned, changes.count)
        var found = MatchPairs()
        let seconds = try timed {
            try changes.readLines(of: range) { index, line in
                try plain.find(line) { found.add($0) }
                found.end(change: index)
            }
        }
        try check("by a look at every subscription", found, pairs(&watchers, of: range))
        return Double(range.count) / seconds
    }

    private func timed(_ body: () throws -> Void) rethrows -> Double {
        let start = MatchBench.now
        try body()
        return Double(MatchBench.now - start) / 1e9
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// What the process holds, without files.
    private static var memory: Double {
        ProcessUse.giveBackMemory()
        return ProcessUse(pid: getpid()).map { Double($0.anonymousBytes) } ?? 0
    }
}

// MARK: - Saves and deletes in between

extension MatchBench {
    /// Who is not deleted for a while is found as ever; in the end all are saved again.
    private func mix(_ watchers: inout Watchers, into measure: inout MatchMeasure) throws {
        let edits = try MatchEdits(subscriptions, changes: changes.count)
        var found = MatchPairs(ignoring: edits.touched)
        var times: [Int64] = []
        try pass(
            edits, &watchers, found: { found.add($0) }, ended: { found.end(change: $0) },
            edited: { times.append($0) })
        try check(
            "with saves and deletes in between", found, pairs(&watchers, MatchPairs(ignoring: edits.touched)))
        measure.edit = Percentiles(times)
        measure.mixedPerSecond = try rate { try pass(edits, &watchers) }
    }

    /// - Parameter edited: Given how long each edit took, in nanoseconds.
    private func pass(
        _ edits: MatchEdits, _ watchers: inout Watchers, found: (borrowing [UInt8]) -> Void = { _ in },
        ended: (Int) -> Void = { _ in }, edited: (Int64) -> Void = { _ in }
    ) throws {
        var missing: Int?
        try changes.readLines { index, line in
            try watchers.find(line, found)
            ended(index)
            guard let edit = edits.edit(after: index) else { return }
            let start = MatchBench.now
            if edit.isDelete {
                try edits.deletions[edit.number].withUnsafeBytes { try watchers.take($0) }
            } else {
                try save(edits.lines[edit.number], &watchers)
            }
            edited(MatchBench.now - start)
            missing = edit.isDelete ? edits.lines[edit.number] : nil
        }
        if let missing { try save(missing, &watchers) }
    }

    private func save(_ line: Int, _ watchers: inout Watchers) throws {
        try subscriptions.readLines(of: line..<(line + 1)) { try watchers.take($1) }
    }
}

// MARK: - Snapshots

extension MatchBench {
    /// Writes a snapshot to the disk, and goes on from it.
    private func snapshot(_ watchers: inout Watchers) throws -> MatchMeasure.SnapshotMeasure {
        var measure = MatchMeasure.SnapshotMeasure()
        let store = SnapshotStore(logDirectory: folder)
        measure.writeSeconds = try timed {
            var writer = SnapshotWriter()
            watchers.write(into: &writer)
            try store.write(MatchBench.header, state: writer.buffer.bytes)
            measure.bytes = writer.buffer.count
        }
        watchers = Watchers()
        measure.loadSeconds = try timed {
            let newest = try store.newest(where: { _ in true }) { StandardError.write($0) }
            guard let newest else { throw ToolFailure(.software, "the snapshot just written is not there") }
            var reader = SnapshotReader(newest.state.span.bytes)
            try watchers.read(from: &reader)
        }
        return measure
    }

    private static var header: SnapshotHeader {
        let log = LogIdentity(seed: "bench", name: LogKind.matches.rawValue)
        return SnapshotHeader(
            stage: MatchStage.kind, version: MatchStage.snapshotVersion ?? 0, log: log, upstream: log,
            cursor: Cursor(["changes": 1]), sequence: 1, now: .epoch)
    }
}
