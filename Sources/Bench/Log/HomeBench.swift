import EventLog
import Foundation
import Glibc
import JetStream
import JetStreamHome
import NATS
import PipelineRuntime
import Synchronization
import Time

/// Appends the same events to a log whose home is NATS servers, and publishes the same bytes without a log.
struct HomeBench {
    struct Rates: Sendable {
        /// Events a second that the log appended, in batches of 64, until all were durable.
        var saturated: Double
        /// Events a second that were published in messages of 1,000,000 bytes, one at a time.
        var baseline: Double
        /// From the append of a batch to its durability, in microseconds, at ``HomeBench/pace`` events a second.
        var latency: Percentiles
        /// The same for publishing a batch without a log.
        var baselineLatency: Percentiles

        var ratio: Double { saturated / baseline }
        var latencyRatio: Double { Double(latency.p50) / Double(max(baselineLatency.p50, 1)) }
    }

    let events: Int
    let folder: String
    let servers: [String]
    let replicas: Int
    let interruption: Interruption

    static let pace = 20_000
    private static let batchSize = 64
    private static let messageBytes = 1_000_000
    private static let pacedSeconds = 3
    private static let pacedBatch = 20

    func measure() throws -> Rates {
        let connection = try NATSConnection(try NATSSettings(servers: servers))
        let jetStream = JetStream(connection, answerTimeout: .seconds(20))
        let saturated = try rate(withNewLog(jetStream) { try appendAll(to: $0) })
        let baseline = try withNewStream(jetStream) { subject in
            try rate(seconds { try publishAll(on: subject, over: connection) })
        }
        let latency = try withNewLog(jetStream) { try paced($0) }
        let baselineLatency = try withNewStream(jetStream) { try paced(on: $0, over: connection) }
        return Rates(
            saturated: saturated, baseline: baseline, latency: Percentiles(latency),
            baselineLatency: Percentiles(baselineLatency))
    }

    /// Bytes a second in messages of 1,000,000 bytes, and the time of one publish of a small message, both without a
    /// log and one at a time.
    func measureBare() throws -> (bytesPerSecond: Double, publish: Percentiles) {
        let connection = try NATSConnection(try NATSSettings(servers: servers))
        let jetStream = JetStream(connection, answerTimeout: .seconds(20))
        return try withNewStream(jetStream) { subject in
            let events = try rate(seconds { try publishAll(on: subject, over: connection) })
            var workload = Workload(seed: 2, subscriptions: 10_000)
            let message = NATSMessage(subject, body: workload.lines(1))
            var durations: [Int64] = []
            for _ in 0..<500 {
                let start = ContinuousClock.now
                _ = try connection.request(message, atMost: .seconds(20))
                durations.append(Int64(start.duration(to: .now) / .microseconds(1)))
            }
            return (events * Double(Workload.lineBytes), Percentiles(durations))
        }
    }

    private func rate(_ seconds: Double) -> Double { Double(events / Self.batchSize * Self.batchSize) / seconds }

    // MARK: The log

    /// Calls `body` with a new log, and removes the log and its stream afterwards.
    private func withNewLog<Result>(_ jetStream: JetStream, _ body: (EventLogWriter) throws -> Result) throws -> Result
    {
        let pipeline = "belfry-bench-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let settings = JetStreamHome.Settings(
            pipeline: pipeline, servers: try NATSSettings(servers: servers), replicas: replicas)
        var options = EventLogOptions(directory: folder, name: "log", segmentBytesMax: 4 << 30)
        options.home = JetStreamHome(settings, say: { StandardError.write($0) })
        defer {
            do {
                try PlainFile.remove(options.logDirectory)
                try jetStream.delete(JetStreamHome.stream(pipeline: pipeline, log: "log"))
            } catch { StandardError.write("cannot remove the log of the bench: \(error)") }
        }
        let writer = try EventLogWriter(options)
        return try body(writer)
    }

    private func appendAll(to writer: EventLogWriter) throws -> Double {
        var workload = Workload(seed: 1, subscriptions: 10_000)
        let lines = workload.lines(Self.batchSize)
        return try seconds {
            for _ in 0..<(events / Self.batchSize) {
                while writer.isHomeBehind(before: lines.count) {
                    try interruption.check()
                    try writer.check()
                    usleep(1_000)
                }
                try lines.withUnsafeBytes { lines in
                    _ = try writer.append(lines, count: Self.batchSize, now: max(Instant.wall(), writer.lastNow))
                }
            }
            try writer.close()
        }
    }

    private func paced(_ writer: EventLogWriter) throws -> [Int64] {
        var workload = Workload(seed: 2, subscriptions: 10_000)
        let lines = workload.lines(Self.pacedBatch)
        let appended = Mutex<[(last: UInt64, at: ContinuousClock.Instant)]>([])
        let durations = Mutex<[Int64]>([])
        writer.onDurable { durable in
            let now = ContinuousClock.now
            let done = appended.withLock { appended in
                let done = appended.prefix { $0.last <= durable }
                appended.removeFirst(done.count)
                return Array(done)
            }
            durations.withLock { durations in
                durations += done.map { Int64(($0.at.duration(to: now)) / .microseconds(1)) }
            }
        }
        try paceBatches {
            let start = ContinuousClock.now
            appended.withLock { $0.append((writer.lastSequence + UInt64(Self.pacedBatch), start)) }
            try lines.withUnsafeBytes { lines in
                _ = try writer.append(lines, count: Self.pacedBatch, now: max(Instant.wall(), writer.lastNow))
            }
        }
        try writer.close()
        return durations.withLock { $0 }
    }

    // MARK: Without a log

    private func withNewStream<Result>(_ jetStream: JetStream, _ body: (String) throws -> Result) throws -> Result {
        let name = try StreamName("belfry-bench-\(getpid())-\(UInt32.random(in: 0 ... .max))")
        let subject = "\(name.text).bare"
        var settings = StreamSettings(name, subjects: [subject])
        settings.replicas = replicas
        try jetStream.create(settings)
        defer {
            do { try jetStream.delete(name) } catch {
                StandardError.write("cannot remove the stream of the bench: \(error)")
            }
        }
        return try body(subject)
    }

    private func publishAll(on subject: String, over connection: NATSConnection) throws {
        var workload = Workload(seed: 1, subscriptions: 10_000)
        let bytes = workload.lines(Self.messageBytes / Workload.lineBytes)
        var left = events / Self.batchSize * Self.batchSize * Workload.lineBytes
        while left > 0 {
            try interruption.check()
            let body = left >= bytes.count ? bytes : Array(bytes.prefix(left))
            _ = try connection.request(NATSMessage(subject, body: body), atMost: .seconds(20))
            left -= body.count
        }
    }

    private func paced(on subject: String, over connection: NATSConnection) throws -> [Int64] {
        var workload = Workload(seed: 2, subscriptions: 10_000)
        let message = NATSMessage(subject, body: workload.lines(Self.pacedBatch))
        var durations: [Int64] = []
        try paceBatches {
            let start = ContinuousClock.now
            _ = try connection.request(message, atMost: .seconds(20))
            durations.append(Int64(start.duration(to: .now) / .microseconds(1)))
        }
        return durations
    }

    /// Calls `body` so often that each call may append ``pacedBatch`` events.
    private func paceBatches(_ body: () throws -> Void) throws {
        let interval = Duration.microseconds(1_000_000 * Self.pacedBatch / Self.pace)
        let start = ContinuousClock.now
        for number in 0..<(Self.pacedSeconds * Self.pace / Self.pacedBatch) {
            try interruption.check()
            let rest = ContinuousClock.now.duration(to: start + interval * number)
            if rest > .zero { usleep(UInt32(rest / .microseconds(1))) }
            try body()
        }
    }
}

struct HomeBenchReport: BenchReport {
    let rates: HomeBench.Rates
    let runs: Int
    let events: Int
    let replicas: Int

    var lines: [String] {
        [
            "\(events.of("event")) of \(Workload.lineBytes) bytes, \(replicas.of("replica")), \(runs.of("run")), "
                + "\(BuildKind.word) build", "",
            "saturated: \(rates.saturated.text(decimals: 0)) events/s; messages of 1 MB without a log: "
                + "\(rates.baseline.text(decimals: 0)); ratio \(rates.ratio.text(decimals: 2))",
            "at \(HomeBench.pace.grouped) events/s until durable: \(rates.latency.text)",
            "the same bytes without a log: \(rates.baselineLatency.text); ratio of p50 "
                + rates.latencyRatio.text(decimals: 2),
        ]
    }

    var json: ReportValue {
        .object([
            "bench": .text("log"), "home": .text("jetstream"), "build": .text(BuildKind.word), "events": .count(events),
            "eventBytes": .count(Workload.lineBytes), "runs": .count(runs), "replicas": .count(replicas),
            "eventsPerSecond": .number(rates.saturated), "baselineEventsPerSecond": .number(rates.baseline),
            "ratio": .number(rates.ratio), "durableMilliseconds": rates.latency.report,
            "baselineMilliseconds": rates.baselineLatency.report, "latencyRatio": .number(rates.latencyRatio),
        ])
    }
}
