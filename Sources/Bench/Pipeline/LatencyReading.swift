import EventLog
import Events
import JSON
import PipelineRuntime
import Time

/// Reads afterwards, from the logs, what became of the changes and how long it took.
///
/// A change's latency is the `now` of the batch of outcomes that names it in `causes`, less the `now` of its own batch in
/// the changes log: from its acceptance at the door to the answer of the transport. Both are the machine's clock.
struct LatencyReading: ~Copyable {
    /// When each change was accepted, and how long it took.
    private(set) var accepts: [Instant] = []
    private(set) var latencies: [Int64] = []
    private(set) var outcomes: UInt64 = 0
    private(set) var accepted: UInt64 = 0
    private(set) var last = Instant.epoch
    private var times = ChangeTimes()
    private var parser = JSONParser()

    /// - Parameter logs: The folder that holds the logs `changes` and `outcomes`.
    init(logs: String) throws {
        times = try ChangeTimes(log: logs + "/changes")
        let reader = try EventLogReader(directory: logs + "/outcomes", from: .beginning)
        while let batch = try reader.next() {
            if batch.header.count > 0 { last = batch.header.now }
            for line in Lines(batch.body) { try take(line, at: batch.header.now) }
        }
    }

    private mutating func take(_ line: UnsafeRawBufferPointer, at now: Instant) throws {
        let outcome = try parser.parse(line)
        guard outcome[.type]?.equals(EventName.outcome) == true else { return }
        outcomes += 1
        guard outcome[.outcome]?.equals("accepted") == true else { return }
        accepted += 1
        guard let causes = outcome[.causes] else { return }
        for cause in causes.elements {
            guard let sequence = cause.natural(.sequence), let time = times[sequence] else { continue }
            accepts.append(time)
            latencies.append(now.microseconds - time.microseconds)
        }
    }
}
