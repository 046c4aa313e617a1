import Glibc
import PipelineRuntime
import Time

/// Sends a workload to running stages and waits until every change has become what it must.
///
/// One thread: it makes the lines, sends them as a producer, and takes the door's answers.
final class PipelineDrive {
    struct Times {
        var firstSend = Instant.epoch
        var lastSend = Instant.epoch
        /// When all was done, and the stages still ran.
        var end = Instant.epoch
        /// Each stage, in order: when half of the changes were sent, and at the end.
        var halfway: [ProcessUse] = []
        var use: [ProcessUse] = []
        var driver = ProcessUse?.none
        /// Each stage's longest, in order: before the first send, and from then on.
        var pausesBefore: [[StagePause]] = []
        var pauses: [[StagePause]] = []
    }

    /// Lines that one message holds when there is no rate: about 128 KiB.
    private static let blockLines = 336
    /// How long nothing may move before the run is given up.
    private static let patience = Duration.seconds(30)

    private let options: PipelineBenchOptions
    private let producer: BenchProducer
    private(set) var workload: Workload
    private(set) var times = Times()

    init(_ options: PipelineBenchOptions, _ stages: StageProcesses, _ pids: [Int32], _ interruption: Interruption)
        throws
    {
        self.options = options
        producer = try BenchProducer(stages, pids, interruption, patience: PipelineDrive.patience)
        workload = Workload(seed: options.seed, subscriptions: options.subscriptions, records: options.records)
    }

    func run(outcomes: String) throws {
        try producer.setUp(workload.setUp(devices: options.devices))
        times.pausesBefore = try producer.pauses()
        let before = try producer.uses()
        let ownBefore = ProcessUse(pid: getpid())
        times.firstSend = Instant.wall()
        try options.rate.map { try send(perSecond: $0) } ?? sendAll()
        times.lastSend = Instant.wall()
        try producer.wait(for: outcomes, workload.watched, every: .milliseconds(100)) {}
        times.end = Instant.wall()
        times.pauses = try producer.pauses()
        times.use = zip(try producer.uses(), before).map { $0.since($1) }
        times.driver = ProcessUse(pid: getpid()).flatMap { use in ownBefore.map { use.since($0) } }
        producer.close()
    }

    // MARK: Changes

    private func sendAll() throws {
        while workload.made < options.changes {
            if producer.hasRoom {
                try send(Int(min(UInt64(PipelineDrive.blockLines), options.changes - workload.made)))
                try producer.pump(.zero)
            } else {
                try producer.pump(.milliseconds(100))
            }
        }
        try producer.settle()
    }

    /// A few lines about every millisecond: all that are due by then.
    private func send(perSecond rate: Int) throws {
        let start = ContinuousClock.now
        while workload.made < options.changes {
            let due = min(
                UInt64((ContinuousClock.now - start) / .microseconds(1) * Double(rate) / 1e6), options.changes)
            if due > workload.made, producer.hasRoom { try send(Int(min(due - workload.made, 1_000))) }
            try producer.pump(.milliseconds(1))
        }
        try producer.settle()
    }

    private func send(_ count: Int) throws {
        let lines = workload.lines(count)
        try producer.send(lines, count: count)
        if times.halfway.isEmpty, workload.made >= options.changes / 2 { times.halfway = try producer.uses() }
    }
}
