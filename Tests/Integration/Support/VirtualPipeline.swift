import BuiltIns
import EventLog
import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import ZeroMQ

/// A pipeline that can run several times with the same logs, in virtual time unless it has another clock.
final class VirtualPipeline: Sendable {
    static let logs = ["changes", "matches", "notifications", "pushes", "outcomes"]

    let folder: Folder
    private let file: PipelineFile
    private let allPushes = Mutex<[String]>([])
    /// The number of events that each stage read in its last run, by stage name.
    private let eventsIn = Mutex<[String: UInt64]>([:])

    private let largest = Mutex(0)
    private let calls: FileCalls
    private let time: HostTime
    private let clock: HostClock
    private let partBytes: Int

    /// - Parameters:
    ///   - calls: The calls to the disk.
    ///   - time: What the clocks of the machine show. A test may move them.
    ///   - clock: The clock of the stages: virtual time (`.event`) or the clock of the machine (`.wall`).
    ///   - partBytes: After this many bytes of output, a stage appends them to its log, even if more outputs of the
    ///     same event follow.
    ///   - folder: The folder of an earlier pipeline, to continue with its logs. Nil for a new folder.
    init(
        _ original: PipelineFile, log: LogSettings = LogSettings(sync: .never), calls: FileCalls = FileCalls(),
        time: HostTime = HostTime(), clock: HostClock = .event, partBytes: Int = Outbox.partBytes, folder: Folder? = nil
    ) throws {
        (self.calls, self.time, self.clock, self.partBytes) = (calls, time, clock, partBytes)
        self.folder = try folder ?? Folder()
        let folder = self.folder
        // A file without a seed gets the seed that `belfry run` uses.
        file = original.inProcess(data: folder.path, seed: original.seed ?? "belfry run", log: log)
    }

    /// The number of events that a stage read in its last run.
    func eventsIn(_ stage: String) -> UInt64 { eventsIn.withLock { $0[stage] ?? 0 } }
    /// The folder of the logs.
    var folderOfLogs: String { folder.path + "/logs" }

    /// All pushes so far, in order.
    var pushes: [String] { allPushes.withLock { $0 } }

    /// The size of the largest array of pushes that the sink got in one call, in bytes.
    var largestDelivery: Int { largest.withLock { $0 } }

    /// Starts all stages, sends commands, and stops all stages.
    ///
    /// - Parameters:
    ///   - batchSizes: The sizes of the first batches of commands. All remaining commands are one more batch.
    ///   - stoppedStage: The index of a stage to stop after half of the commands. The stage catches up in the next run.
    ///   - drains: Whether to move the clock to the end of time, and wait until all stages have reached it.
    ///   - meanwhile: Runs while the commands are sent.
    ///   - beforeStop: Runs before the stages are stopped.
    func run(
        _ commands: [String], batchSizes: [Int], stoppingStageAtHalf stoppedStage: Int? = nil, drains: Bool,
        meanwhile: @escaping @Sendable (PipelineProcess) async throws -> Void = { _ in },
        beforeStop: @Sendable (PipelineProcess) async throws -> Void = { _ in }
    ) async throws {
        let sink: PushSink = { [self] deliveries in
            largest.withLock { $0 = max($0, deliveries.reduce(0) { $0 + $1.byteCount }) }
            allPushes.withLock { $0 += deliveries.map { String(decoding: $0.line, as: UTF8.self) } }
        }
        var surroundings = HostSurroundings(registry: .builtIns, context: try HostContext(), clock: clock, sink: sink)
        (surroundings.calls, surroundings.time) = (calls, time)
        // Makes every snapshot that is due, even on a busy machine.
        surroundings.calls.makeBackgroundQueue = { ImmediateQueue() }
        surroundings.calls.backgroundShare = nil
        surroundings.partBytes = partBytes
        let pipeline = try PipelineProcess(file, in: surroundings)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pipeline.run() }
            // After an error, the group waits until all hosts have ended, so they must be stopped.
            defer { pipeline.stop() }
            try await pipeline.source.wait(for: "the source runs") { $0.phase == .running }
            async let watching: Void = meanwhile(pipeline)
            try await VirtualPipeline.send(
                commands, to: pipeline, batchSizes, stoppingStageAtHalf: stoppedStage, drains)
            if drains { for host in pipeline.hosts { try await host.wait(for: "the end of time") { $0.mark >= 1 } } }
            try await watching
            try await beforeStop(pipeline)
            pipeline.stop()
            try await group.waitForAll()
        }
        let counts = pipeline.hosts.map { ($0.plan.stage, $0.control.report.eventsIn) }
        eventsIn.withLock { $0 = Dictionary(uniqueKeysWithValues: counts) }
    }

    private static func send(
        _ commands: [String], to pipeline: PipelineProcess, _ batchSizes: [Int], stoppingStageAtHalf stoppedStage: Int?,
        _ drains: Bool
    ) async throws {
        try await SocketThread.run(name: "producer") {
            let half = commands.count / 2
            if let stoppedStage {
                try feed(pipeline, Array(commands[..<half]), batchSizes, false)
                pipeline.hosts[stoppedStage].control.stop()
            }
            try feed(pipeline, Array(commands[(stoppedStage == nil ? 0 : half)...]), batchSizes, drains)
        }
    }

    private static func feed(_ pipeline: PipelineProcess, _ commands: [String], _ batchSizes: [Int], _ drains: Bool)
        throws
    {
        let producer = try pipeline.producer("test")
        _ = try producer.greet(timeout: .seconds(30))
        var start = 0
        for size in batchSizes + [commands.count] where start < commands.count {
            let end = min(commands.count, start + max(1, size))
            let piece = commands[start..<end].joined(separator: "\n") + "\n"
            try producer.send(Array(piece.utf8), count: end - start)
            start = end
        }
        try pump(producer, "answers to \(commands.count) commands") { producer.isDone }
        guard drains else { return }
        try producer.moveTime(to: .distantFuture, mark: 1)
        try pump(producer, "the end of time") { producer.timeMark >= 1 }
    }

    private static func pump(_ producer: Producer, _ what: String, until isMet: () -> Bool) throws {
        let limit = ContinuousClock.now + .seconds(60)
        while !isMet() {
            guard .now < limit else { throw WaitFailure("the producer: \(what): not within 60 s") }
            try producer.pump(wait: .milliseconds(100))
        }
    }

    /// The events of a log, one line each.
    func events(of log: String) throws -> [String] {
        let reader = try EventLogReader(directory: folder.path + "/logs/" + log, from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            events += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return events
    }
}

/// Does work at once, on the thread of the caller.
private struct ImmediateQueue: SyncQueue {
    func schedule(after: Duration, _ work: @escaping @Sendable () -> Void) { work() }
    func runAndWait(_ work: () -> Void) { work() }
}
