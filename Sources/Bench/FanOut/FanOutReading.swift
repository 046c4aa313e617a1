import EventLog
import Events
import JSON
import PipelineRuntime
import Time

/// Reads afterwards, from the logs, when the pushes of the one change had their outcomes, and how long the others took.
struct FanOutReading: ~Copyable {
    private(set) var outcomes: UInt64 = 0
    /// Milliseconds from the acceptance of the one change to its first outcome and to its last.
    var first: Double { milliseconds(firstOutcome) }
    var last: Double { milliseconds(lastOutcome) }
    /// Microseconds from the acceptance of each other change to its outcome: those that came before the one change, and
    /// those that came while it was under way.
    private(set) var before: [Int64] = []
    private(set) var during: [Int64] = []

    private let sequence: UInt64
    private var times = ChangeTimes()
    private var accepted = Instant.epoch
    private var firstOutcome = Instant.distantFuture
    private var lastOutcome = Instant.epoch
    private var parser = JSONParser()

    /// - Parameters:
    ///   - logs: The folder that holds the logs `changes` and `outcomes`.
    ///   - sequence: The one change's.
    init(logs: String, of sequence: UInt64) throws {
        self.sequence = sequence
        times = try ChangeTimes(log: logs + "/changes")
        accepted = times[sequence] ?? .epoch
        try readOutcomes(logs + "/outcomes") { $0.noteOfFanOut($1, at: $2) }
        outcomes = 0
        try readOutcomes(logs + "/outcomes") { $0.noteOfOther($1, at: $2) }
    }

    private mutating func readOutcomes(_ log: String, _ note: (inout FanOutReading, UInt64, Instant) -> Void) throws {
        let reader = try EventLogReader(directory: log, from: .beginning)
        while let batch = try reader.next() {
            for line in Lines(batch.body) {
                outcomes += 1
                guard let causes = try parser.parse(line)[.causes] else { continue }
                for cause in causes.elements {
                    if let change = cause.natural(.sequence) { note(&self, change, batch.header.now) }
                }
            }
        }
    }

    private mutating func noteOfFanOut(_ change: UInt64, at now: Instant) {
        guard change == sequence else { return }
        firstOutcome = min(firstOutcome, now)
        lastOutcome = max(lastOutcome, now)
    }

    private mutating func noteOfOther(_ change: UInt64, at now: Instant) {
        guard change != sequence, let time = times[change] else { return }
        let latency = now.microseconds - time.microseconds
        if change < sequence {
            before.append(latency)
        } else if time <= lastOutcome {
            during.append(latency)
        }
    }

    private func milliseconds(_ time: Instant) -> Double {
        Double(time.microseconds - accepted.microseconds) / 1_000
    }
}
