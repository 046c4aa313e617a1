import EventLog
import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import Synchronization
import Time

/// A whole pipeline inside a test: the real stages on real ZeroMQ `inproc` sockets, with a clock that the test moves.
///
///     let belfry = try await TestPipeline.start(pipelineFile: "notes.yaml", registry: registry)
///     try await belfry.send(#"{"type":"record.save", ...}"#)
///     try await belfry.advance(by: .seconds(5))
///     #expect(belfry.pushes.count == 1)
///     try await belfry.stop()
///
/// ``settle()`` returns when everything sent so far has passed through every stage and its outcomes are in the log. It
/// does not sleep or poll.
public final class TestPipeline: Sendable {
    private let pipeline: PipelineProcess
    private let file: PipelineFile
    private let folder: TemporaryFolder
    private let collector: PushCollector
    private let producer: TestProducer
    private let running: Task<Void, any Error>
    private let clock: Mutex<(now: Instant, mark: UInt64)>

    /// Starts the pipeline that a file describes. Its transports are not opened: every push goes to ``pushes``.
    ///
    /// - Parameters:
    ///   - now: The time at which the manual clock starts.
    ///   - registry: The stages, transports and policies. `BelfryTestKit` has the same function with Belfry's own
    ///     registry.
    public static func start(
        pipelineFile path: String, at now: Instant = .testStart, registry: Registry
    ) async throws -> TestPipeline {
        try await start(try PipelineFile.load(path: path, registry: registry), at: now, registry: registry)
    }

    /// Starts the pipeline that a YAML text describes.
    public static func start(
        yaml: String, at now: Instant = .testStart, registry: Registry
    ) async throws -> TestPipeline {
        try await start(
            try PipelineFile.parse(yaml, file: "test.yaml", registry: registry), at: now, registry: registry)
    }

    private static func start(_ file: PipelineFile, at now: Instant, registry: Registry) async throws -> TestPipeline {
        let pipeline = try TestPipeline(file, at: now, registry)
        try await pipeline.moveClock(to: now)
        return pipeline
    }

    private init(_ original: PipelineFile, at now: Instant, _ registry: Registry) throws {
        folder = try TemporaryFolder()
        file = original.inProcess(
            data: folder.path, seed: original.seed ?? "PipelineTestKit", log: LogSettings(sync: .never))
        let collector = PushCollector()
        self.collector = collector
        let surroundings = HostSurroundings(
            registry: registry, context: try HostContext(), clock: .event, sink: { collector.add($0) })
        let pipeline = try PipelineProcess(file, in: surroundings)
        try pipeline.check()
        self.pipeline = pipeline
        clock = Mutex((now: now, mark: 0))
        let producer = try TestProducer(pipeline)
        self.producer = producer
        running = Task {
            do { try await pipeline.run() } catch {
                producer.end(error)
                throw error
            }
        }
    }

    /// Sends ingest commands, one JSON object each, and waits for the answer.
    ///
    /// - Returns: How many commands were accepted, the saved subscriptions, and up to 1,000 refused commands with their
    ///   reasons.
    @discardableResult
    public func send(_ commands: String...) async throws -> Admission { try await send(commands) }

    /// Sends ingest commands, one JSON object each, and waits for the answer.
    @discardableResult
    public func send(_ commands: [String]) async throws -> Admission { try await producer.send(commands) }

    /// The time of the manual clock.
    public var now: Instant { clock.withLock { $0.now } }

    /// Advances the clock, wakes the stages for every deadline up to the new time, and waits until everything has
    /// passed through every stage.
    public func advance(by duration: Duration) async throws {
        try await moveClock(to: now.advanced(by: duration))
    }

    /// Waits until everything sent so far has passed through every stage.
    ///
    /// - Throws: A stage's error, if the stage has failed.
    public func settle() async throws { try await moveClock(to: now) }

    /// Sends a mark with the time. Each stage passes the mark on after all earlier input. So when a stage reports the
    /// mark, it has handled everything that was sent before.
    private func moveClock(to time: Instant) async throws {
        let mark = clock.withLock { clock in
            clock.now = max(clock.now, time)
            clock.mark += 1
            return clock.mark
        }
        try await producer.moveTime(to: time, mark: mark)
        for host in pipeline.hosts { await host.control.wait { $0.mark >= mark || $0.phase == .stopped } }
        guard pipeline.hosts.contains(where: { $0.control.report.phase == .stopped }) else { return }
        try await running.value
        throw TestPipelineError.ended
    }

    /// Every push so far, once for each of its devices, in order, as the JSON line that a transport gets.
    public var pushes: [String] { collector.pushes }

    /// Returns the first push that no earlier call has returned. If all were returned, waits for the next one.
    public func nextPush() async -> String { await collector.next() }

    /// The events in one stage's log so far, one JSON object each. Call ``settle()`` first to see all of them.
    public func events(of stage: String) throws -> [String] {
        guard let host = pipeline.host(stage) else { throw TestPipelineError.noStage(stage) }
        let reader = try EventLogReader(directory: folder.path + "/logs/" + host.plan.logName, from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            events += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return events
    }

    /// The events of the last stage's log so far. If the last stage is deliver, these are the outcomes: one for each
    /// push and device. No push is tried again, because every push is accepted at once.
    public func outcomes() throws -> [String] { try events(of: pipeline.last.plan.stage) }

    /// Stops every stage. The logs are removed when this object is freed.
    ///
    /// - Throws: A stage's error, if the stage has failed.
    public func stop() async throws {
        defer { pipeline.context.shutdown() }
        var closing: (any Error)?
        do { try await producer.close() } catch { closing = error }
        pipeline.stop()
        try await running.value
        if let closing { throw closing }
    }
}

extension Instant {
    /// Where a test's clock starts: 2026-01-01T00:00:00Z.
    public static let testStart = Instant(microseconds: 1_767_225_600_000_000)
}

/// A failed request of a test to a pipeline.
public enum TestPipelineError: Error, CustomStringConvertible {
    case noStage(String)
    case ended

    public var description: String {
        switch self {
        case .noStage(let name): "the pipeline has no stage '\(name)'"
        case .ended: "the pipeline has stopped"
        }
    }
}

/// The door's answer to some commands.
public struct Admission: Sendable, Hashable {
    /// A command that did not reach the log.
    public struct Refusal: Sendable, Hashable {
        /// The number of the command since the start, from 1.
        public let line: UInt64
        /// A stable code for programs, such as `member.missing`.
        public let code: String
        /// The dotted path of the wrong member; empty for the whole command.
        public let path: String
        /// A sentence for people.
        public let reason: String
    }

    /// A subscription that was saved.
    public struct Saved: Sendable, Hashable {
        /// The number of the command since the start, from 1.
        public let line: UInt64
        /// The subscription's ID and warnings.
        public let subscription: SavedSubscription
        /// The sequence of the event in the changes log by which the subscription was saved. The subscription watches
        /// all later changes.
        public let activeFrom: UInt64
    }

    /// How many commands the door accepted.
    public internal(set) var accepted = 0
    /// The saved subscriptions, one for each accepted `subscription.save`.
    public internal(set) var saved: [Saved] = []
    /// The refused commands, in order, but only the first 1,000 of them.
    public internal(set) var refusals: [Refusal] = []
}
