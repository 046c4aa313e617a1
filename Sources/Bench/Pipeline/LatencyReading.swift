import EventLog
import Events
import JSON
import PipelineRuntime
import Time

/// Reads from the logs, after a run, the latency of each change that led to an accepted push.
///
/// The latency of a change is the time from its acceptance by ingest to the answer of the transport. It begins at the
/// time of the change's batch in the changes log. It ends at the time of the batch with the outcome that names the
/// change in `causes`. Both times come from the machine's clock.
struct LatencyReading {
    /// When ingest accepted each change that led to an accepted push.
    private(set) var acceptTimes: [Instant] = []
    /// The latency of each of these changes, in microseconds.
    private(set) var latencies: [Int64] = []
    private(set) var outcomes: UInt64 = 0
    /// The time of the last batch in the outcomes log that has events.
    private(set) var last = Instant.epoch
    private let times: ChangeTimes

    /// - Parameters:
    ///   - logs: The folder of the logs.
    ///   - outcomes: The names of the logs of outcomes.
    init(logs: String, outcomes: [String]) throws {
        times = try ChangeTimes(log: logs + "/changes")
        for name in outcomes { try read(logs + "/" + name) }
    }

    private mutating func read(_ log: String) throws {
        var parser = JSONParser()
        let reader = try EventLogReader(directory: log, from: .beginning)
        while let batch = try reader.next() {
            if batch.header.count > 0 { last = max(last, batch.header.now) }
            for line in Lines(batch.body) { try add(parser.parse(line), at: batch.header.now) }
        }
    }

    private mutating func add(_ outcome: borrowing JSONValue, at now: Instant) {
        guard outcome[.type]?.equals(EventName.outcome) == true else { return }
        outcomes += 1
        guard outcome[.outcome]?.equals("accepted") == true, let causes = outcome[.causes] else { return }
        for cause in causes.elements {
            guard let sequence = cause.natural(.sequence), let time = times[sequence] else { continue }
            acceptTimes.append(time)
            latencies.append(now.microseconds - time.microseconds)
        }
    }
}
