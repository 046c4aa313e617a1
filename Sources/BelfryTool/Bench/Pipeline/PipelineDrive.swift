import EventLog
import Glibc
import PipelineRuntime

/// Sends a workload to running stages and waits until every change has become what it must.
///
/// One thread: it makes the lines, sends them as a producer, and takes the door's answers.
final class PipelineDrive {
    struct Times {
        var firstSend = Instant.epoch
        var lastSend = Instant.epoch
        /// Each stage, in order: when half of the changes were sent, and at the end.
        var halfway: [ProcessUse] = []
        var use: [ProcessUse] = []
        var driver = ProcessUse?.none
    }

    /// Lines that one message holds when there is no rate: about 128 KiB.
    private static let blockLines = 336
    /// How long nothing may move before the run is given up.
    private static let patience = Duration.seconds(30)

    private let options: PipelineBenchOptions
    private let stages: StageProcesses
    private let pids: [Int32]
    private let interruption: Interruption
    private let producer: Producer
    private(set) var workload: Workload
    private(set) var times = Times()
    private var refused = 0
    private var moved = ContinuousClock.now

    init(_ options: PipelineBenchOptions, _ stages: StageProcesses, _ pids: [Int32], _ interruption: Interruption)
        throws
    {
        self.options = options
        self.stages = stages
        self.pids = pids
        self.interruption = interruption
        let source = stages.plans[0]
        producer = try Producer(
            ProducerSocket.make(source, stages.context), endpoint: source.door ?? "", name: "belfry bench")
        workload = Workload(seed: options.seed, subscriptions: options.subscriptions)
        producer.onAnswer = { [unowned self] in
            refused += $0.refused
            moved = .now
        }
    }

    func run(outcomes: String) throws {
        _ = try producer.greet(timeout: .seconds(20))
        try setUp()
        let before = try uses()
        let ownBefore = ProcessUse(pid: getpid())
        times.firstSend = Instant.wall()
        try options.rate.map { try send(perSecond: $0) } ?? sendAll()
        times.lastSend = Instant.wall()
        try waitForOutcomes(outcomes)
        times.use = zip(try uses(), before).map { $0.since($1) }
        times.driver = ProcessUse(pid: getpid()).flatMap { use in ownBefore.map { use.since($0) } }
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
        let probes = try stages.plans.map { try StageProbe($0, stages.context) }
        var through = producer.logLast
        for probe in probes.dropFirst() {
            while try (probe.positions()?.taken ?? 0) < through { try checkProgress() }
            through = try probe.positions()?.last ?? 0
        }
        moved = .now
    }

    // MARK: Changes

    private func sendAll() throws {
        while workload.made < options.changes {
            if producer.hasRoom {
                try send(Int(min(UInt64(PipelineDrive.blockLines), options.changes - workload.made)))
                try pump(.zero)
            } else {
                try pump(.milliseconds(100))
            }
        }
        try settle()
    }

    /// A few lines about every millisecond: all that are due by then.
    private func send(perSecond rate: Int) throws {
        let start = ContinuousClock.now
        while workload.made < options.changes {
            let due = min(
                UInt64((ContinuousClock.now - start) / .microseconds(1) * Double(rate) / 1e6), options.changes)
            if due > workload.made, producer.hasRoom { try send(Int(min(due - workload.made, 1_000))) }
            try pump(.milliseconds(1))
        }
        try settle()
    }

    private func send(_ count: Int) throws {
        let lines = workload.lines(count)
        try producer.send(lines, count: count)
        if times.halfway.isEmpty, workload.made >= options.changes / 2 { times.halfway = try uses() }
    }

    // MARK: After

    /// Waits until the door has answered for everything.
    private func settle() throws {
        while !producer.isDone { try pump(.milliseconds(100)) }
        guard refused == 0 else { throw ToolFailure(.software, "ingest refused \(refused.of("line")) of the workload") }
    }

    private func waitForOutcomes(_ log: String) throws {
        let reader = try EventLogReader(directory: log, from: .beginning)
        var last: UInt64 = 0
        moved = .now
        while last < workload.watched {
            while let header = try reader.nextHeader() {
                last = header.lastSequence
                moved = .now
            }
            guard last < workload.watched, .now - moved < PipelineDrive.patience else { return }
            try checkProgress()
            _ = try reader.waitForMore(timeout: .milliseconds(100))
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
        guard .now - moved < PipelineDrive.patience else {
            throw ToolFailure(.unavailable, "nothing has moved for \(PipelineDrive.patience.text)")
        }
    }
}
