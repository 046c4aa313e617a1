import EventLog
import Glibc
import Time

/// When the stages made snapshots, read from the files after the run. Snapshots that a stage has removed are unknown.
///
/// A snapshot lasts from the time of its state until its file has its final name.
struct SnapshotTimes {
    /// The number of snapshots of each stage, in the order of the logs.
    private(set) var counts: [Int] = []
    /// The spans of time in which at least one stage made a snapshot, in order, without overlaps.
    private var spans: [(start: Instant, end: Instant)] = []

    /// - Parameters:
    ///   - logs: The folder of the logs.
    ///   - names: The names of the logs.
    ///   - start: Earlier snapshots do not count.
    ///   - end: Snapshots that were finished later do not count. Stages make some when they stop.
    init(logs: String, _ names: [String], from start: Instant, to end: Instant) throws {
        var all: [(start: Instant, end: Instant)] = []
        for name in names {
            let files = try SnapshotStore(logDirectory: logs + "/" + name).list()
            let made = files.compactMap { file in
                file.header.flatMap { header in
                    SnapshotTimes.end(of: file.path).map { (start: header.now, end: $0) }
                }
            }.filter { $0.start >= start && $0.end <= end }
            counts.append(made.count)
            all += made
        }
        for span in all.sorted(by: { $0.start < $1.start }) {
            if let last = spans.last, span.start <= last.end {
                spans[spans.count - 1].end = max(last.end, span.end)
            } else {
                spans.append(span)
            }
        }
    }

    /// Whether a stage made a snapshot at some moment between two times.
    func hasSnapshot(from start: Instant, to end: Instant) -> Bool {
        var (low, high) = (0, spans.count)
        while low < high {
            let middle = (low + high) / 2
            if spans[middle].end < start { low = middle + 1 } else { high = middle }
        }
        return low < spans.count && spans[low].start <= end
    }

    /// The share of the time from `start` to `end` during which at least one stage made a snapshot.
    func share(from start: Instant, to end: Instant) -> Double {
        let taken = spans.reduce(Int64(0)) {
            $0 + max(0, min($1.end, end).microseconds - max($1.start, start).microseconds)
        }
        return Double(taken) / Double(max(1, end.microseconds - start.microseconds))
    }

    /// The time when a snapshot file got its final name; nil if the time cannot be read.
    private static func end(of path: String) -> Instant? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Instant(microseconds: Int64(status.st_ctim.tv_sec) * 1_000_000 + Int64(status.st_ctim.tv_nsec) / 1_000)
    }
}

/// Latencies of the changes, in two groups: changes that were on their way while a stage made a snapshot, and all other
/// changes.
struct SnapshotLatencies: Hashable, Sendable {
    var duringSnapshots: Percentiles
    var otherwise: Percentiles
    /// The share of the run in which a stage made a snapshot.
    var share: Double

    init(_ reading: LatencyReading, _ times: SnapshotTimes, from start: Instant) {
        var (during, otherwise): ([Int64], [Int64]) = ([], [])
        for (accepted, latency) in zip(reading.acceptTimes, reading.latencies) {
            if times.hasSnapshot(from: accepted, to: accepted.advanced(by: .microseconds(latency))) {
                during.append(latency)
            } else {
                otherwise.append(latency)
            }
        }
        (duringSnapshots, self.otherwise) = (Percentiles(during), Percentiles(otherwise))
        share = times.share(from: start, to: reading.last)
    }

    /// The 99th percentile during snapshots, divided by the 99th percentile of the other changes.
    var p99Ratio: Double? {
        duringSnapshots.count > 0 && otherwise.p99 > 0 ? Double(duringSnapshots.p99) / Double(otherwise.p99) : nil
    }
}
