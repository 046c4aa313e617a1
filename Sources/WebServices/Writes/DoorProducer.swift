import PipelineRuntime
import ZeroMQ

/// Sends the lines of waiting writes to ingest's door. Runs on a thread of its own.
struct DoorProducer<StoredEvent: Sendable>: Sendable {
    let writes: PendingWrites<StoredEvent>
    let wake: WakeSignal
    let isStopped: @Sendable () -> Bool

    /// An answer of the door lists at most 1,000 refusals, so at most 1,000 lines are sent at once.
    private static var linesMax: Int { 1_000 }
    private static var bytesMax: Int { 1 << 20 }
    /// How often deadlines are checked.
    private static var checkInterval: Duration { .milliseconds(100) }

    /// Returns when the gateway stops.
    ///
    /// - Parameter applied: The last sequence in the store.
    func run(_ producer: Producer, applied: UInt64) throws {
        let known = try producer.greet(timeout: .seconds(1 << 30)) {
            writes.expire(at: .now)
            return !isStopped()
        }
        guard let known else { return }
        writes.begin(answered: known, applied: applied)
        producer.onAnswer = { [writes] answer in
            writes.answered(through: answer.through, last: answer.last, refusals: Self.refusals(answer))
        }
        producer.onLostAnswers = { [writes] lost in
            writes.answersLost(through: lost.lines.upperBound, last: lost.last)
        }
        var next = known + 1
        var checked = ContinuousClock.now
        while !isStopped() {
            wake.clear()
            var requests: Set<Int> = []
            while producer.hasRoom, try send(producer, &next, &requests) {}
            LoadPause.pause(afterRequests: requests.count)
            try producer.pump(wait: Self.checkInterval)
            guard .now - checked >= Self.checkInterval else { continue }
            checked = .now
            writes.expire(at: checked)
        }
    }

    /// - Parameter requests: Gets the requests that wait for the lines.
    /// - Returns: Whether there was something to send.
    private func send(_ producer: Producer, _ next: inout UInt64, _ requests: inout Set<Int>) throws -> Bool {
        let (lines, waiting) = writes.takeLines(first: next, countMax: Self.linesMax, bytesMax: Self.bytesMax)
        guard !lines.isEmpty else { return false }
        requests.formUnion(waiting)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(lines.reduce(0) { $0 + $1.bytes.count + 1 })
        for line in lines {
            bytes += line.bytes
            bytes.append(UInt8(ascii: "\n"))
        }
        next += UInt64(lines.count)
        try producer.send(bytes, count: lines.count)
        return true
    }

    private static func refusals(_ answer: Producer.Answer) -> [UInt64: WriteLedger<String, StoredEvent>.Refusal] {
        Dictionary(
            answer.refusals.map { ($0.line, .init(code: $0.code, path: $0.path, reason: $0.reason)) },
            uniquingKeysWith: { first, _ in first })
    }
}
