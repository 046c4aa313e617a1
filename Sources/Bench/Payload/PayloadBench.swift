import JSON
import Payload
import PipelineKit
import Time

/// Builds pushes from notifications, on one thread and with nothing around it: from the bytes of one to the bytes of the
/// other.
///
/// Reading alone and Foundation take turns with it, so that a slow hour is slow for all.
struct PayloadBench: Sendable {
    let input: PayloadBenchInput
    /// How long each of the three takes at each turn.
    let seconds: Double
    let interruption: Interruption

    private static let rounds = 5

    static func context(of log: String) -> StageContext {
        let identity = LogIdentity(seed: "bench payload", name: log)
        return StageContext(log: identity, upstream: identity, upstreamName: log)
    }

    /// - Throws: ``ToolFailure`` with 70 where Foundation's payloads are others.
    func run() throws -> PayloadMeasure {
        var measure = PayloadMeasure(payloads: input.count, notificationBytes: input.bytesEach)
        try compare(into: &measure)
        var (reading, payload, foundation) = ([Double](), [Double](), [Double]())
        for _ in 0..<PayloadBench.rounds {
            reading.append(try rate(read))
            payload.append(try rate(build))
            foundation.append(try rate { try FoundationPayload.readAndWrite(input, only: 2_000) })
        }
        (measure.readingPerSecond, measure.perSecond) = (reading.median, payload.median)
        measure.foundationPerSecond = foundation.median
        return measure
    }

    /// - Parameter pass: Returns how many it has done.
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
        var bytes = 0
        try input.readLines { bytes += try parser.parse($0).count }
        return bytes > 0 ? input.count : 0
    }

    private func build() throws -> Int {
        try build { $0.removeEvents() }
        return input.count
    }

    /// - Parameter full: Called whenever a part of the outputs is full, and at the end.
    private func build(_ full: (inout Outbox) throws -> Void) throws {
        var stage = StageClock(try PayloadStage(PayloadSettings(), context: PayloadBench.context(of: "notifications")))
        var parser = JSONParser()
        var outbox = Outbox()
        var sequence: UInt64 = 0
        try input.readLines { line in
            sequence += 1
            let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
            stage.receive(event, at: .epoch, into: &outbox)
            if outbox.lines.count >= Outbox.partBytes { try full(&outbox) }
        }
        guard outbox.takeRejections().isEmpty else { throw ToolFailure(.software, "a notification was refused") }
        try full(&outbox)
    }

    private func compare(into measure: inout PayloadMeasure) throws {
        var (pushes, bytes, payloads) = ([UInt8](), 0, [Double]())
        try build { outbox in
            bytes += outbox.lines.count
            if pushes.isEmpty { pushes = Array(outbox.lines) }
            outbox.removeEvents()
        }
        measure.pushBytes = Double(bytes) / Double(input.count) - 1
        try FoundationPayload.compare(pushes, with: input) { payloads.append(Double($0)) }
        measure.payloadBytes = payloads.reduce(0, +) / Double(payloads.count)
    }
}
