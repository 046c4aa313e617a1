import EventLog
import Events
import Foundation
import Match
import PipelineKit
import PipelineRuntime
import Time

/// Matches changes against subscriptions, on one thread without a host.
///
/// Each run finds the pairs of subscription and change in several ways, and checks that all ways find the same pairs:
/// with the index, with a scan of all subscriptions for the first changes, with the index while some subscriptions are
/// deleted and saved (only the pairs of the other subscriptions are compared), with the index after that, and with an
/// index loaded from a snapshot.
struct MatchBench: Sendable {
    let subscriptions: MatchInput
    let changes: MatchInput
    /// The scan of all subscriptions matches at most this many changes, from the first.
    let scanLimit: Int

    private static let passes = 9

    /// - Parameter folder: The folder of the snapshot.
    /// - Throws: ``ToolFailure`` with status 65 if a line of the input is invalid or a subscription is saved twice, and
    ///   with 70 if two ways find different pairs. `EventLogError` or `SnapshotError` if the snapshot cannot be written
    ///   or loaded.
    func run(in folder: String) throws -> MatchResult {
        var result = MatchResult(subscriptions: subscriptions.count, changes: changes.count)
        let before = MatchBench.memory
        var watchers = Watchers()
        result.buildSeconds = try seconds { try fill(&watchers) }
        guard watchers.subscriptionCount == subscriptions.count else {
            throw ToolFailure(
                .badData,
                "\(subscriptions.name): \(subscriptions.count.of("line")) save "
                    + "\(watchers.subscriptionCount.of("subscription")): save each subscription once")
        }
        result.bytesPerSubscription = (MatchBench.memory - before) / Double(subscriptions.count)

        let pairs = try pairs(&watchers)
        (result.pairs, result.watched, result.digest) = (pairs.pairs, pairs.watched, pairs.digest)
        result.perSecond = try rate { try changes.readLines { _ = try watchers.countMatches(of: $1) } }
        result.latency = try latency(&watchers)
        result.scannedPerSecond = try scan(&watchers)
        try matchDuringEdits(&watchers, into: &result)
        try check("the index after saves and deletes", self.pairs(&watchers), pairs)
        result.snapshot = try snapshot(&watchers, in: folder)
        try check("the index from a snapshot", self.pairs(&watchers), pairs)
        return result
    }

    /// Writes a line `<index of the change, from 0> <subscription ID>` for each pair, sorted by index, then by ID.
    func writePairs(to path: String) throws {
        var watchers = Watchers()
        try fill(&watchers)
        let text = try pairs(&watchers, MatchPairs(keepsText: true)).text
        try TextFile.write(text, to: path)
    }

    private func fill(_ watchers: inout Watchers) throws { try subscriptions.readLines { try watchers.apply($1) } }

    private func pairs(
        _ watchers: inout Watchers, _ empty: MatchPairs = MatchPairs(), of range: Range<Int>? = nil
    ) throws -> MatchPairs {
        var pairs = empty
        try changes.readLines(of: range) { index, line in
            try watchers.find(line) { pairs.add($0) }
            pairs.finish(change: index)
        }
        return pairs
    }

    private func check(_ way: String, _ found: MatchPairs, _ expected: MatchPairs) throws {
        guard found.digest != expected.digest else { return }
        throw ToolFailure(
            .software,
            "\(way) found \(found.pairs.of("pair")) (\(found.digest)), not \(expected.pairs.of("pair")) (\(expected.digest))"
        )
    }
}

// MARK: - Speed

extension MatchBench {
    /// - Returns: Changes a second, of the median pass.
    private func rate(_ pass: () throws -> Void) throws -> Double {
        let times = try (0..<MatchBench.passes).map { _ in try seconds(pass) }
        return Double(changes.count) / times.median
    }

    /// - Returns: Latencies in nanoseconds, of the pass with the median 99th percentile.
    private func latency(_ watchers: inout Watchers) throws -> Percentiles {
        var passes: [Percentiles] = []
        for _ in 0..<MatchBench.passes { passes.append(try latencyOfPass(&watchers)) }
        return passes.median { Double($0.p99) } ?? passes[0]
    }

    private func latencyOfPass(_ watchers: inout Watchers) throws -> Percentiles {
        var all: [Int64] = []
        all.reserveCapacity(changes.count)
        try changes.readLines { _, line in
            let start = MatchBench.now
            _ = try watchers.countMatches(of: line)
            all.append(MatchBench.now - start)
        }
        return Percentiles(all)
    }

    private func scan(_ watchers: inout Watchers) throws -> Double {
        var plain = PlainScan()
        try subscriptions.readLines { try plain.add($1) }
        let range = 0..<min(scanLimit, changes.count)
        var found = MatchPairs()
        let taken = try seconds {
            try changes.readLines(of: range) { index, line in
                try plain.find(line) { found.add($0) }
                found.finish(change: index)
            }
        }
        try check("the scan of all subscriptions", found, pairs(&watchers, of: range))
        return Double(range.count) / taken
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The resident anonymous memory of this process, in bytes.
    private static var memory: Double {
        ProcessUse.trimMemory()
        return ProcessUse(pid: getpid()).map { Double($0.anonymousBytes) } ?? 0
    }
}

// MARK: - Saves and deletes between changes

extension MatchBench {
    /// Matches while subscriptions are deleted and saved again.
    ///
    /// The pairs of the other subscriptions must stay the same. At the end all subscriptions are saved.
    private func matchDuringEdits(_ watchers: inout Watchers, into result: inout MatchResult) throws {
        let edits = try MatchEdits(subscriptions, changes: changes.count)
        var found = MatchPairs(ignoring: edits.touched)
        var times: [Int64] = []
        try pass(
            edits, &watchers, found: { found.add($0) }, ended: { found.finish(change: $0) },
            edited: { times.append($0) })
        try check(
            "the index during saves and deletes", found, pairs(&watchers, MatchPairs(ignoring: edits.touched)))
        result.edit = Percentiles(times)
        result.mixedPerSecond = try rate { try pass(edits, &watchers) }
    }

    /// - Parameter edited: Called with the time that each edit took, in nanoseconds.
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
                try edits.deletions[edit.index].withUnsafeBytes { try watchers.apply($0) }
            } else {
                try save(edits.lines[edit.index], &watchers)
            }
            edited(MatchBench.now - start)
            missing = edit.isDelete ? edits.lines[edit.index] : nil
        }
        if let missing { try save(missing, &watchers) }
    }

    private func save(_ line: Int, _ watchers: inout Watchers) throws {
        try subscriptions.readLines(of: line..<(line + 1)) { try watchers.apply($1) }
    }
}

// MARK: - Snapshots

extension MatchBench {
    /// Writes a snapshot to the disk, and replaces the index by an index loaded from the snapshot.
    private func snapshot(_ watchers: inout Watchers, in folder: String) throws -> MatchResult.Snapshot {
        var result = MatchResult.Snapshot()
        let store = SnapshotStore(logDirectory: folder)
        result.writeSeconds = try seconds {
            var writer = SnapshotWriter()
            watchers.write(into: &writer)
            try store.write(MatchBench.header, state: writer.buffer.bytes)
            result.bytes = writer.buffer.count
        }
        watchers = Watchers()
        result.loadSeconds = try seconds {
            let newest = try store.newest(where: { _ in true }) { StandardError.write($0) }
            guard let newest else { throw ToolFailure(.software, "cannot find the snapshot that was just written") }
            var reader = SnapshotReader(newest.state.span.bytes)
            try watchers.read(from: &reader)
        }
        return result
    }

    private static var header: SnapshotHeader {
        let log = LogIdentity(seed: "bench", name: LogKind.matches.rawValue)
        return SnapshotHeader(
            stage: MatchStage.kind, version: MatchStage.snapshotVersion ?? 0, log: log, upstream: log,
            cursor: Cursor(["changes": 1]), sequence: 1, now: .epoch)
    }
}
