import EventLog
import PipelineRuntime
import Time

/// Sends the others at their rate, the one change among them, and waits until every push has its outcome. One thread.
final class FanOutDrive {
    struct Result: Sendable {
        /// Where the one change stands in the changes log.
        var sequence: UInt64 = 0
        /// How many others were sent.
        var others: UInt64 = 0
        /// Each stage just before the one change, and at the end.
        var before: [ProcessUse] = []
        var after: [ProcessUse] = []
        /// Milliseconds since the one change was sent.
        var firstMatch = 0.0
        var lastMatch = 0.0
    }

    private static let patience = Duration.seconds(60)

    private let options: FanOutBenchOptions
    private let pids: [Int32]
    private let producer: BenchProducer
    private let workload: FanOutWorkload
    private(set) var result = Result()
    private var sent: ContinuousClock.Instant?
    private var matches: EventLogReader?

    init(_ options: FanOutBenchOptions, _ stages: StageProcesses, _ pids: [Int32], _ interruption: Interruption) throws
    {
        (self.options, self.pids) = (options, pids)
        producer = try BenchProducer(stages, pids, interruption, patience: FanOutDrive.patience)
        workload = FanOutWorkload(watchers: options.watchers)
    }

    func run(logs: String) throws {
        try producer.setUp(workload.setUp())
        matches = try EventLogReader(directory: logs + "/matches", from: .end)
        try sendOthers(for: .seconds(options.seconds))
        try sendNews()
        try sendOthers(for: .seconds(options.seconds))
        try producer.settle()
        try producer.wait(
            for: logs + "/outcomes", UInt64(options.watchers) + result.others, every: .milliseconds(1),
            meanwhile: followMatches)
        result.after = try producer.uses()
        producer.close()
    }

    // MARK: Changes

    private func sendOthers(for time: Duration) throws {
        let (start, already) = (ContinuousClock.now, result.others)
        while .now - start < time {
            let due = already + UInt64((ContinuousClock.now - start) / .microseconds(1) * Double(options.rate) / 1e6)
            if due > result.others, producer.hasRoom { try sendOthers(through: min(due, result.others + 500)) }
            try producer.pump(.milliseconds(1))
            try followMatches()
        }
    }

    private func sendOthers(through last: UInt64) throws {
        let lines = (result.others..<last).map { FanOutWorkload.change(Int($0)) + "\n" }
        try producer.send(Array(lines.joined().utf8), count: lines.count)
        result.others = last
    }

    private func sendNews() throws {
        for pid in pids { try ProcessUse.forgetPeak(of: pid) }
        result.before = try producer.uses()
        result.sequence = UInt64(workload.setUpLines) + result.others + 1
        sent = .now
        try producer.send(Array((FanOutWorkload.news + "\n").utf8), count: 1)
    }

    /// Sees when match has written the first and the last match of the one change.
    private func followMatches() throws {
        guard let sent, result.lastMatch == 0 else { return }
        while let header = try matches?.nextHeader() {
            let isDone = header.cursor.input.map { $0.position >= result.sequence } ?? false
            let isPart = UnfinishedStep(header.cursor, of: "changes") != nil
            let time = (ContinuousClock.now - sent) / .milliseconds(1)
            if result.firstMatch == 0, isPart || isDone { result.firstMatch = time }
            if isDone {
                result.lastMatch = time
                return
            }
        }
    }
}
