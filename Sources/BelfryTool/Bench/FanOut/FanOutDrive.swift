import EventLog
import Glibc
import PipelineRuntime

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
    private let stages: StageProcesses
    private let pids: [Int32]
    private let interruption: Interruption
    private let producer: Producer
    private let workload: FanOutWorkload
    private(set) var result = Result()
    private var refused = 0
    private var moved = ContinuousClock.now
    private var sent: ContinuousClock.Instant?
    private var matches: EventLogReader?

    init(_ options: FanOutBenchOptions, _ stages: StageProcesses, _ pids: [Int32], _ interruption: Interruption) throws
    {
        (self.options, self.stages, self.pids, self.interruption) = (options, stages, pids, interruption)
        let source = stages.plans[0]
        producer = try Producer(
            ProducerSocket.make(source, stages.context), endpoint: source.door ?? "", name: "belfry bench")
        workload = FanOutWorkload(watchers: options.watchers)
        producer.onAnswer = { [unowned self] in
            refused += $0.refused
            moved = .now
        }
    }

    func run(logs: String) throws {
        _ = try producer.greet(timeout: .seconds(20))
        try setUp()
        matches = try EventLogReader(directory: logs + "/matches", from: .end)
        try sendOthers(for: .seconds(options.seconds))
        try sendNews()
        try sendOthers(for: .seconds(options.seconds))
        try settle()
        try waitForOutcomes(logs + "/outcomes", UInt64(options.watchers) + result.others)
        result.after = try uses()
        producer.socket.close()
    }

    // MARK: Before

    private func setUp() throws {
        for block in workload.setUp() {
            while !producer.hasRoom { try pump(.milliseconds(100)) }
            try producer.send(Array((block.joined(separator: "\n") + "\n").utf8), count: block.count)
            try pump(.zero)
        }
        try settle()
        var through = producer.logLast
        for plan in stages.plans.dropFirst() {
            let probe = try StageProbe(plan, stages.context)
            while try (probe.positions()?.taken ?? 0) < through { try checkProgress() }
            through = try probe.positions()?.last ?? 0
        }
        moved = .now
    }

    // MARK: Changes

    private func sendOthers(for time: Duration) throws {
        let (start, already) = (ContinuousClock.now, result.others)
        while .now - start < time {
            let due = already + UInt64((ContinuousClock.now - start) / .microseconds(1) * Double(options.rate) / 1e6)
            if due > result.others, producer.hasRoom { try sendOthers(through: min(due, result.others + 500)) }
            try pump(.milliseconds(1))
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
        result.before = try uses()
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

    // MARK: After

    private func settle() throws {
        while !producer.isDone { try pump(.milliseconds(100)) }
        guard refused == 0 else { throw ToolFailure(.software, "ingest refused \(refused.of("line")) of the workload") }
    }

    private func waitForOutcomes(_ log: String, _ expected: UInt64) throws {
        let reader = try EventLogReader(directory: log, from: .beginning)
        var last: UInt64 = 0
        moved = .now
        while last < expected {
            while let header = try reader.nextHeader() {
                last = header.lastSequence
                moved = .now
            }
            try followMatches()
            guard last < expected, .now - moved < FanOutDrive.patience else { return }
            try checkProgress()
            _ = try reader.waitForMore(timeout: .milliseconds(1))
        }
    }

    private func uses() throws -> [ProcessUse] {
        try pids.map { pid in
            guard let use = ProcessUse(pid: pid) else { throw ToolFailure(.software, "process \(pid) has ended") }
            return use
        }
    }

    private func pump(_ wait: Duration) throws {
        try producer.pump(wait: wait)
        try checkProgress()
    }

    private func checkProgress() throws {
        try interruption.check()
        try stages.check()
        guard .now - moved < FanOutDrive.patience else {
            throw ToolFailure(.unavailable, "nothing has moved for \(FanOutDrive.patience.text)")
        }
    }
}
