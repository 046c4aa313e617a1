import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Feeds a stage as a host does, each of its pushes being accepted at once, and keeps what it says.
final class StageDrive<S: Stage> {
    /// What the stage said to one event or wake.
    struct Step: Hashable {
        /// Nil for a wake.
        var sequence: UInt64?
        var now: Instant
        var lines: [String] = []
        var rejections: [String] = []
        var deliveries: [String] = []
        var said: [String] { (rejections + lines + deliveries).map { "\($0) at \(now.rfc3339)" } }
        var isSilent: Bool { lines.isEmpty && rejections.isEmpty && deliveries.isEmpty }
    }

    private(set) var clock: StageClock<S>
    private(set) var steps: [Step] = []
    private var out = Outbox()
    private var bytesTaken = 0
    private var events: EventReader
    private(set) var sequence: UInt64
    private let batch: Int

    /// Wakes that a check serves in a row.
    private static var wakesMax: Int { 20_000 }

    /// - Parameters:
    ///   - batch: So many events find in the outbox what was said to those before.
    ///   - partBytes: After so much the stage is asked to stop.
    init(_ stage: S, now: Instant = .epoch, sequence: UInt64 = 0, batch: Int = 1, partBytes: Int = Outbox.partBytes) {
        clock = StageClock(stage, now: now)
        (self.sequence, self.batch) = (sequence, batch)
        events = EventReader(limits: S.isSource ? EventReader.doorLimits : EventReader.linkLimits)
        out.partBytesMax = partBytes
    }

    /// All that the stage said, in order, with its times.
    var said: [String] { steps.flatMap(\.said) }

    func receive(_ event: SampleEvent) throws {
        if sequence % UInt64(batch) == 0 { cut() }
        try wake(through: event.time)
        sequence += 1
        try Array(event.line.utf8).withUnsafeBytes { line in
            if let read = events.read(line, sequence: sequence, into: &out) {
                clock.receive(read, at: event.time, into: &out)
            }
            try take(sequence)
        }
    }

    /// Takes back one of the stage's own events.
    func recall(_ line: String, sequence: UInt64, at time: Instant) {
        Array(line.utf8).withUnsafeBytes { bytes in
            if let read = events.read(bytes, sequence: sequence, into: &out) { clock.recall(read, at: time) }
        }
        out.discard()
    }

    /// The end of a batch: the next begins with nothing in the outbox.
    private func cut() {
        out.discard()
        bytesTaken = 0
    }

    /// - Throws: ``WakesWithoutEnd``
    func wake(through time: Instant) throws {
        for _ in 0..<Self.wakesMax {
            guard let deadline = clock.stage.deadline, deadline <= max(time, clock.now) else { return }
            clock.serveNext(into: &out)
            try take(nil)
            if let fault = clock.fault { throw WakesWithoutEnd("\(fault)") }
            guard let next = clock.stage.deadline, next <= clock.now else { continue }
            throw WakesWithoutEnd(
                "woken at \(clock.now.rfc3339), the stage asks for the deadline \(next.rfc3339) again")
        }
        let next = clock.stage.deadline?.rfc3339 ?? ""
        throw WakesWithoutEnd(
            "after \(Self.wakesMax) wakes without input the stage still asks for one, at \(next): a stage that holds nothing "
                + "any more has no deadline")
    }

    func snapshot() -> [UInt8] {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        return Array(writer.buffer.bytes)
    }

    private func take(_ sequence: UInt64?) throws {
        var step = Step(sequence: sequence, now: clock.now)
        while case let deliveries = out.takeDeliveries(), !deliveries.isEmpty {
            for delivery in deliveries {
                step.deliveries.append(String(decoding: delivery.line, as: UTF8.self))
                clock.receive(TransportAnswer(delivery.id, .accepted), into: &out)
            }
        }
        _ = out.takeWithdrawals()
        step.rejections = out.takeRejections().map {
            "rejected \($0.sequence): \($0.rejection.code) \($0.rejection.path)"
        }
        let fresh = UnsafeRawBufferPointer(rebasing: out.lines[bytesTaken...])
        if !fresh.isEmpty, fresh.last != UInt8(ascii: "\n") { throw Breach("an output has no end of line") }
        step.lines = Lines(fresh).map { String(decoding: $0, as: UTF8.self) }
        bytesTaken = out.lines.count
        if !step.isSilent { steps.append(step) }
    }
}
