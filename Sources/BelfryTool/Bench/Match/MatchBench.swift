import Foundation
import Match

/// Matches a file of changes against a file of subscriptions, on one thread and with nothing around it.
struct MatchBench: Sendable {
    let subscriptions: MatchInput
    let changes: MatchInput
    /// How many changes are also matched by looking at every subscription.
    let scanned: Int

    /// Of so many operations of the mixed run, one is a save and one in two of those takes the place of a delete.
    private static let changesPerEdit = 100

    func run() throws -> MatchMeasure {
        var measure = MatchMeasure(subscriptions: subscriptions.count, changes: changes.count)
        let before = residentBytes
        var watchers = Watchers()
        measure.buildSeconds = try timed { try fill(&watchers) }
        measure.bytesEach = (residentBytes - before) / Double(max(subscriptions.count, 1))
        (measure.pairs, measure.watched) = try match(&watchers)
        let best = try (0..<3).map { _ in try timed { _ = try match(&watchers) } }.min() ?? 0
        measure.perSecond = Double(changes.count) / best
        measure.latency = Percentiles(try latencies(&watchers))
        measure.scannedPerSecond = try scan()
        measure.mixedPerSecond = try mixed(&watchers)
        return measure
    }

    /// Writes a line `<index of the change, from 0> <subscription ID>` for each pair, sorted.
    func writePairs(to path: String) throws {
        var watchers = Watchers()
        try fill(&watchers)
        var text: [UInt8] = []
        try changes.readLines { index, line in
            var ids: [[UInt8]] = []
            try watchers.find(line) { ids.append(copy $0) }
            for id in ids.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                text += Array("\(index) ".utf8) + id + [0x0A]
            }
        }
        do { try Data(text).write(to: URL(fileURLWithPath: path)) } catch {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(error.localizedDescription)")
        }
    }

    private func fill(_ watchers: inout Watchers) throws { try subscriptions.readLines { try watchers.take($1) } }

    private func match(_ watchers: inout Watchers) throws -> (pairs: Int, watched: Int) {
        var (pairs, watched) = (0, 0)
        try changes.readLines { _, line in
            let before = pairs
            pairs += try watchers.count(line)
            if pairs > before { watched += 1 }
        }
        return (pairs, watched)
    }

    /// In nanoseconds.
    private func latencies(_ watchers: inout Watchers) throws -> [Int64] {
        var (all, pairs) = ([Int64](), 0)
        all.reserveCapacity(changes.count)
        try changes.readLines { _, line in
            let start = MatchBench.now
            pairs += try watchers.count(line)
            all.append(MatchBench.now - start)
        }
        return all
    }

    private func scan() throws -> Double {
        var plain = PlainScan()
        try subscriptions.readLines { try plain.take($1) }
        let count = min(scanned, changes.count)
        var pairs = 0
        let seconds = try timed {
            try changes.readLines(of: 0..<count) { _, line in pairs += try plain.count(line) }
        }
        return Double(count) / seconds
    }

    /// The same changes with subscriptions saved again in between, each of which replaces itself.
    private func mixed(_ watchers: inout Watchers) throws -> Double {
        var (pairs, next) = (0, 0)
        let seconds = try timed {
            try changes.readLines { index, line in
                pairs += try watchers.count(line)
                guard index % MatchBench.changesPerEdit == 0 else { return }
                try subscriptions.readLines(of: next..<(next + 1)) { try watchers.take($1) }
                next = (next + 7_919) % subscriptions.count
            }
        }
        return Double(changes.count) / seconds
    }

    private func timed(_ body: () throws -> Void) rethrows -> Double {
        let start = MatchBench.now
        try body()
        return Double(MatchBench.now - start) / 1e9
    }

    private var residentBytes: Double { ProcessUse(pid: getpid()).map { Double($0.residentBytes) } ?? 0 }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// What was measured; times in seconds and, for one change, in nanoseconds.
struct MatchMeasure: Sendable {
    let subscriptions: Int
    let changes: Int
    var buildSeconds = 0.0
    var bytesEach = 0.0
    var perSecond = 0.0
    var latency = Percentiles([])
    var pairs = 0
    var watched = 0
    var scannedPerSecond = 0.0
    var mixedPerSecond = 0.0
}
