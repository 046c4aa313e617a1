import JSON
import Payload
import PipelineKit
import Time

/// Builds pushes from notifications, from bytes to bytes, on one thread without a host.
///
/// Building, reading without building, and building with Foundation take turns, so that a machine that slows down
/// favors none of them.
struct PayloadBench: Sendable {
    let input: PayloadBenchInput
    /// The minimum length of each turn, in seconds.
    let seconds: Double
    let interruption: Interruption

    private static let rounds = 5

    /// - Parameter log: One name for both the stage's own log and the log that it reads.
    static func context(of log: String) -> StageContext {
        let identity = LogIdentity(seed: "bench payload", name: log)
        return StageContext(log: identity, upstream: identity, upstreamName: log)
    }

    /// - Throws: ``ToolFailure`` with status 70 if the stage rejects a notification, or if a payload in the first
    ///   ``Outbox/partBytes`` of the stage's output differs from Foundation's; an `ExitCode` after a signal.
    func run() throws -> PayloadResult {
        var result = PayloadResult(payloads: input.count, notificationBytes: input.meanBytes)
        try compare(into: &result)
        var (reading, payload, foundation) = ([Double](), [Double](), [Double]())
        for _ in 0..<PayloadBench.rounds {
            reading.append(try rate(read))
            payload.append(try rate(build))
            foundation.append(try rate { try FoundationPayload.build(from: input, atMost: 2_000) })
        }
        (result.readingPerSecond, result.perSecond) = (reading.median, payload.median)
        result.foundationPerSecond = foundation.median
        return result
    }

    /// Repeats a pass until the turn is over.
    ///
    /// - Parameter pass: Returns the number of notifications that it has read or built into payloads.
    /// - Returns: Notifications a second.
    private func rate(_ pass: () throws -> Int) throws -> Double {
        try interruption.check()
        let began = ContinuousClock.now
        var (count, elapsed) = (0, 0.0)
        repeat {
            count += try pass()
            elapsed = (ContinuousClock.now - began) / .seconds(1)
        } while elapsed < seconds
        return Double(count) / elapsed
    }

    private func read() throws -> Int {
        var parser = JSONParser()
        var members = 0
        try input.readLines { members += try parser.parse($0).count }
        return members > 0 ? input.count : 0
    }

    private func build() throws -> Int {
        try build { $0.removeEvents() }
        return input.count
    }

    /// - Parameter flush: Called when there are ``Outbox/partBytes`` of output, and at the end. It removes the output.
    private func build(_ flush: (inout Outbox) throws -> Void) throws {
        var stage = StageClock(try PayloadStage(PayloadSettings(), context: PayloadBench.context(of: "notifications")))
        var parser = JSONParser()
        var outbox = Outbox()
        var sequence: UInt64 = 0
        try input.readLines { line in
            sequence += 1
            let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
            stage.receive(event, at: .epoch, into: &outbox)
            if outbox.lines.count >= Outbox.partBytes { try flush(&outbox) }
        }
        guard outbox.takeRejections().isEmpty else {
            throw ToolFailure(.software, "the payload stage rejected a notification")
        }
        try flush(&outbox)
    }

    private func compare(into result: inout PayloadResult) throws {
        var (pushes, bytes, payloads) = ([UInt8](), 0, [Double]())
        try build { outbox in
            bytes += outbox.lines.count
            if pushes.isEmpty { pushes = Array(outbox.lines) }
            outbox.removeEvents()
        }
        result.pushBytes = Double(bytes) / Double(input.count) - 1
        try FoundationPayload.compare(pushes, with: input) { payloads.append(Double($0)) }
        result.payloadBytes = payloads.reduce(0, +) / Double(payloads.count)
    }
}
