import EventLog
import Glibc
import PipelineRuntime
import Time

/// Sends a workload to running stages as a producer, and waits for the outcome of every watched change.
/// Belongs to one thread.
final class PipelineDriver {
    /// The driver's measurements of the run. Lists have one element for each stage, in the order of the pipeline.
    struct Record {
        /// The time just before the first change was sent. The devices and subscriptions were sent earlier.
        var firstSend = Instant.epoch
        /// The time when ingest had answered all changes.
        var allAnswered = Instant.epoch
        /// The time when the driver stopped waiting: the last outcome was in the log, or no outcome came for
        /// ``stallTimeout``. The stages stop after this.
        var end = Instant.epoch
        /// The use of each stage when half of the changes had been sent.
        var halfway: [ProcessUse] = []
        /// The memory of each stage at the end, and its processor time since ``firstSend``.
        var use: [ProcessUse] = []
        /// The memory of this process at the end, and its processor time since ``firstSend``.
        var driver = ProcessUse?.none
        /// The longest pauses of each stage before ``firstSend``.
        var pausesBefore: [[StagePause]] = []
        /// The longest pauses of each stage since ``firstSend``.
        var pauses: [[StagePause]] = []
    }

    /// The number of lines in one message without `--rate`. These lines have about 128 KiB.
    private static let blockLines = 336
    /// The run fails if the door does not answer for this time. It also fails if the driver waits for a stage to read
    /// the devices and subscriptions, and the stage reads nothing for this time. If all changes are answered and the
    /// outcomes log does not grow for this time, the driver stops waiting for outcomes.
    private static let stallTimeout = Duration.seconds(30)

    private let options: PipelineBenchOptions
    private let stages: StageProcesses
    private let pids: [Int32]
    private let interruption: Interruption
    private let producer: Producer
    private(set) var workload: Workload
    private(set) var record = Record()
    private var refused = 0
    private var lastProgress = ContinuousClock.now

    init(_ options: PipelineBenchOptions, _ stages: StageProcesses, _ pids: [Int32], _ interruption: Interruption)
        throws
    {
        (self.options, self.stages, self.pids, self.interruption) = (options, stages, pids, interruption)
        workload = Workload(seed: options.seed, subscriptions: options.subscriptions, records: options.records)
        let source = stages.plans[0]
        producer = try Producer(
            ToolSocket.make(source, stages.context), endpoint: source.door ?? "", name: "belfry bench",
            secret: ProducerSecret.random())
        producer.onAnswer = { [unowned self] in
            refused += $0.refused
            lastProgress = .now
        }
    }

    /// - Parameter outcomes: The folders of the logs of outcomes.
    func run(outcomes: [String]) throws {
        try sendSetUp()
        record.pausesBefore = try pauses()
        let before = try uses()
        let driverBefore = ProcessUse(pid: getpid())
        record.firstSend = .wall()
        try options.rate.map { try sendChanges(perSecond: $0) } ?? sendChanges()
        record.allAnswered = .wall()
        try waitForOutcomes(in: outcomes)
        record.end = .wall()
        record.pauses = try pauses()
        record.use = zip(try uses(), before).map { $0.since($1) }
        record.driver = ProcessUse(pid: getpid()).flatMap { use in driverBefore.map { use.since($0) } }
        producer.socket.close()
    }

    // MARK: Sending

    /// Sends devices and subscriptions, and waits until every stage has read them.
    private func sendSetUp() throws {
        _ = try producer.greet(timeout: .seconds(20))
        for block in workload.setUp(devices: options.devices) {
            while !producer.hasRoom { try pump(.milliseconds(100)) }
            try producer.send(Array((block.joined(separator: "\n") + "\n").utf8), count: block.count)
            try pump(.zero)
        }
        try waitForAnswers()
        var last = [stages.checked.file.sourceStage.name: producer.logLast]
        for (plan, stage) in zip(stages.plans, stages.checked.file.stagesInOrder).dropFirst() {
            let probe = try StageProbe(plan, stages.context)
            var read: UInt64 = 0
            while true {
                let positions = try probe.ask()
                if let positions, positions.lastRead >= last[stage.from ?? ""] ?? 0 {
                    last[stage.name] = positions.last
                    break
                }
                if let newest = positions?.lastRead, newest > read { (read, lastProgress) = (newest, .now) }
                try checkProgress()
            }
        }
        lastProgress = .now
    }

    private func sendChanges() throws {
        while workload.made < options.changes {
            if producer.hasRoom {
                try sendChanges(min(UInt64(PipelineDriver.blockLines), options.changes - workload.made))
                try pump(.zero)
            } else {
                try pump(.milliseconds(100))
            }
        }
        try waitForAnswers()
    }

    /// About every millisecond, sends the changes that are due.
    private func sendChanges(perSecond rate: Int) throws {
        let start = ContinuousClock.now
        while workload.made < options.changes {
            let due = min(
                UInt64((ContinuousClock.now - start) / .microseconds(1) * Double(rate) / 1e6), options.changes)
            if due > workload.made, producer.hasRoom { try sendChanges(min(due - workload.made, 1_000)) }
            try pump(.milliseconds(1))
        }
        try waitForAnswers()
    }

    private func sendChanges(_ count: UInt64) throws {
        try producer.send(workload.lines(Int(count)), count: Int(count))
        if record.halfway.isEmpty, workload.made >= options.changes / 2 { record.halfway = try uses() }
    }

    // MARK: Waiting

    /// Reads the answers of the door.
    ///
    /// - Parameter wait: How long to wait for the first answer.
    private func pump(_ wait: Duration) throws {
        try producer.pump(wait: wait)
        try checkProgress()
    }

    private func waitForAnswers() throws {
        while !producer.isDone { try pump(.milliseconds(100)) }
        guard refused == 0 else { throw ToolFailure(.software, "ingest refused \(refused.of("line")) of the workload") }
    }

    /// Returns when the logs have an outcome of every watched change, or have not grown for ``stallTimeout``.
    private func waitForOutcomes(in logs: [String]) throws {
        let readers = try logs.map { try EventLogReader(directory: $0, from: .beginning) }
        var found: UInt64 = 0
        lastProgress = .now
        while found < workload.watched {
            for reader in readers {
                while let header = try reader.nextHeader() {
                    found += UInt64(header.count)
                    lastProgress = .now
                }
            }
            guard found < workload.watched, .now - lastProgress < PipelineDriver.stallTimeout else { return }
            try checkProgress()
            _ = try readers[0].waitForMore(timeout: .milliseconds(20))
        }
    }

    private func checkProgress() throws {
        try interruption.check()
        try stages.check()
        guard .now - lastProgress < PipelineDriver.stallTimeout else {
            throw ToolFailure(
                .unavailable,
                "ingest did not answer, or a stage read nothing, for \(PipelineDriver.stallTimeout.text)")
        }
    }

    // MARK: Measuring

    private func uses() throws -> [ProcessUse] {
        try pids.map { pid in
            guard let use = ProcessUse(pid: pid) else { throw ToolFailure(.software, "process \(pid) has ended") }
            return use
        }
    }

    /// The longest pauses of each stage since the previous call of this method.
    private func pauses() throws -> [[StagePause]] {
        try stages.plans.map { plan in
            try StageProbe(plan, stages.context, timeout: .seconds(5)).ask(forgetsPauses: true)?.pauses ?? []
        }
    }
}
