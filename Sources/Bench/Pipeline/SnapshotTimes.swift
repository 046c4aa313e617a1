import EventLog
import Glibc
import Time

/// When the stages' snapshots were made, as the files tell afterwards: from the moment that each holds until it had its
/// name.
struct SnapshotTimes {
    /// How many each stage made, in the order of the logs.
    private(set) var counts: [Int] = []
    /// In order, none within another.
    private var spans: [(start: Instant, end: Instant)] = []

    /// - Parameters:
    ///   - logs: The folder that holds the logs.
    ///   - names: The logs' names.
    ///   - start: Those from before do not count.
    ///   - end: Nor do those that were ready later, when the stages stopped.
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

    /// Whether one was being made at some time between.
    func overlap(_ start: Instant, _ end: Instant) -> Bool {
        var (low, high) = (0, spans.count)
        while low < high {
            let middle = (low + high) / 2
            if spans[middle].end < start { low = middle + 1 } else { high = middle }
        }
        return low < spans.count && spans[low].start <= end
    }

    /// What of the time between they took, all together.
    func share(of start: Instant, _ end: Instant) -> Double {
        let taken = spans.reduce(Int64(0)) {
            $0 + max(0, min($1.end, end).microseconds - max($1.start, start).microseconds)
        }
        return Double(taken) / Double(max(1, end.microseconds - start.microseconds))
    }

    /// When it got its name.
    private static func end(of path: String) -> Instant? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Instant(microseconds: Int64(status.st_ctim.tv_sec) * 1_000_000 + Int64(status.st_ctim.tv_nsec) / 1_000)
    }
}

/// Latencies of the changes that came while a stage made a snapshot, and of the others.
struct SnapshotLatencies: Hashable, Sendable {
    var meanwhile: Percentiles
    var otherwise: Percentiles
    /// What of the run snapshots took.
    var share: Double

    init(_ reading: borrowing LatencyReading, _ times: SnapshotTimes, from start: Instant) {
        var (meanwhile, otherwise): ([Int64], [Int64]) = ([], [])
        for (accepted, latency) in zip(reading.accepts, reading.latencies) {
            if times.overlap(accepted, accepted.advanced(by: .microseconds(latency))) {
                meanwhile.append(latency)
            } else {
                otherwise.append(latency)
            }
        }
        (self.meanwhile, self.otherwise) = (Percentiles(meanwhile), Percentiles(otherwise))
        share = times.share(of: start, reading.last)
    }

    /// The 99th percentile of the first to that of the others.
    var ratio: Double? {
        meanwhile.count > 0 && otherwise.p99 > 0 ? Double(meanwhile.p99) / Double(otherwise.p99) : nil
    }
}
