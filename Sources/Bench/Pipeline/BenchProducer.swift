import EventLog
import PipelineRuntime

/// A producer before running stages: sends, takes the door's answers, and gives up where nothing moves. One thread.
final class BenchProducer {
    private let stages: StageProcesses
    private let pids: [Int32]
    private let interruption: Interruption
    private let producer: Producer
    /// How long nothing may move.
    private let patience: Duration
    private var refused = 0
    private var moved = ContinuousClock.now

    init(_ stages: StageProcesses, _ pids: [Int32], _ interruption: Interruption, patience: Duration) throws {
        (self.stages, self.pids, self.interruption, self.patience) = (stages, pids, interruption, patience)
        let source = stages.plans[0]
        producer = try Producer(
            ProducerSocket.make(source, stages.context), endpoint: source.door ?? "", name: "belfry bench",
            secret: ProducerSecret.drawn())
        producer.onAnswer = { [unowned self] in
            refused += $0.refused
            moved = .now
        }
    }

    /// Sends what the changes need, and waits until every stage has taken it in.
    func setUp(_ blocks: some Sequence<[String]>) throws {
        _ = try producer.greet(timeout: .seconds(20))
        for block in blocks {
            while !producer.hasRoom { try pump(.milliseconds(100)) }
            try send(Array((block.joined(separator: "\n") + "\n").utf8), count: block.count)
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

    var hasRoom: Bool { producer.hasRoom }

    func send(_ lines: [UInt8], count: Int) throws { try producer.send(lines, count: count) }

    /// Takes answers, and waits for one so long.
    func pump(_ wait: Duration) throws {
        try producer.pump(wait: wait)
        try checkProgress()
    }

    /// Waits until the door has answered for everything.
    func settle() throws {
        while !producer.isDone { try pump(.milliseconds(100)) }
        guard refused == 0 else { throw ToolFailure(.software, "ingest refused \(refused.of("line")) of the workload") }
    }

    /// Waits until a log holds so many events, or has stood still for too long.
    ///
    /// - Parameter meanwhile: Called about every so often.
    func wait(for log: String, _ expected: UInt64, every interval: Duration, meanwhile: () throws -> Void) throws {
        let reader = try EventLogReader(directory: log, from: .beginning)
        var last: UInt64 = 0
        moved = .now
        while last < expected {
            while let header = try reader.nextHeader() {
                last = header.lastSequence
                moved = .now
            }
            try meanwhile()
            guard last < expected, .now - moved < patience else { return }
            try checkProgress()
            _ = try reader.waitForMore(timeout: interval)
        }
    }

    /// What each stage has used so far.
    func uses() throws -> [ProcessUse] {
        try pids.map { pid in
            guard let use = ProcessUse(pid: pid) else { throw ToolFailure(.software, "process \(pid) has ended") }
            return use
        }
    }

    /// The longest pauses of each stage since this was asked last.
    func pauses() throws -> [[StagePause]] {
        try stages.plans.map { plan in
            try StageProbe(plan, stages.context, patience: .seconds(5)).positions(forgetsPauses: true)?.pauses ?? []
        }
    }

    func close() { producer.socket.close() }

    private func checkProgress() throws {
        try interruption.check()
        try stages.check()
        guard .now - moved < patience else {
            throw ToolFailure(.unavailable, "nothing has moved for \(patience.text)")
        }
    }
}
