import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Feeds a stage as a host does, accepts its pushes at once, and collects its outputs.
final class StageDriver<S: Stage> {
    /// The outputs for one event or wake.
    struct Step: Hashable {
        /// The sequence of the event; nil for a wake.
        var sequence: UInt64?
        var now: Instant
        var lines: [String] = []
        var rejections: [String] = []
        var deliveries: [String] = []
        var outputs: [String] { (rejections + lines + deliveries).map { "\($0) at \(now.rfc3339)" } }
    }

    private(set) var clock: StageClock<S>
    private(set) var steps: [Step] = []
    private var out = Outbox()
    private var bytesTaken = 0
    private var eventReader: EventReader
    private var recallReader = EventReader(limits: EventReader.linkLimits)
    private(set) var sequence: UInt64
    /// The stage's own earlier outputs, which it may read again.
    let past: PastInMemory
    /// The number of output events before the events that are now in the outbox.
    private var written: Int
    private let batch: Int

    private static var wakesMax: Int { 20_000 }

    /// - Parameters:
    ///   - batch: The number of input events whose outputs share one outbox.
    ///   - partBytes: The number of output bytes after which the stage should end a part of its outputs.
    ///   - written: The number of events in `past`, which an earlier driver wrote; 0 if there was no earlier driver.
    ///     Not needed if ``recall(_:sequence:at:)`` feeds these events to the stage.
    init(
        _ stage: S, past: PastInMemory, now: Instant = .epoch, sequence: UInt64 = 0, written: Int = 0, batch: Int = 1,
        partBytes: Int = Outbox.partBytes
    ) {
        (self.past, self.written) = (past, written)
        clock = StageClock(stage, now: now)
        (self.sequence, self.batch) = (sequence, batch)
        eventReader = S.isSource ? .atDoor() : EventReader(limits: EventReader.linkLimits)
        out.fullPartBytes = partBytes
    }

    /// The number of output events so far.
    var eventCount: Int { written + out.count }

    var outputs: [String] { steps.flatMap(\.outputs) }

    func receive(_ event: SampleEvent) throws {
        if sequence % UInt64(batch) == 0 { cut() }
        try wake(through: event.time)
        sequence += 1
        try Array(event.line.utf8).withUnsafeBytes { line in
            if let read = eventReader.read(line, sequence: sequence, into: &out) {
                clock.receive(read, at: event.time, into: &out)
            }
            try collect(sequence)
        }
    }

    /// Feeds a source one of its own events, as after a restart.
    func recall(_ line: String, sequence: UInt64, at time: Instant) {
        Array(line.utf8).withUnsafeBytes { bytes in
            if let read = recallReader.read(bytes, sequence: sequence, into: &out) { clock.recall(read, at: time) }
        }
        written = Int(sequence)
        out.discard()
    }

    /// Ends a batch by emptying the outbox.
    private func cut() {
        written += out.count
        out.discard()
        bytesTaken = 0
    }

    func wake(through time: Instant) throws {
        for _ in 0..<Self.wakesMax {
            guard let deadline = clock.stage.deadline, deadline <= max(time, clock.now) else { return }
            clock.serveNext(into: &out)
            try collect(nil)
            if let fault = clock.fault { throw WakesWithoutEnd("\(fault)") }
            guard let next = clock.stage.deadline, next <= clock.now else { continue }
            throw WakesWithoutEnd(
                "after a wake at \(clock.now.rfc3339), the stage still has the deadline \(next.rfc3339)")
        }
        let next = clock.stage.deadline?.rfc3339 ?? ""
        throw WakesWithoutEnd(
            "after \(Self.wakesMax) wakes without input the stage still has a deadline, \(next); it should have none when "
                + "nothing is pending")
    }

    func snapshot() -> [UInt8] {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        return Array(writer.buffer.bytes)
    }

    private func collect(_ sequence: UInt64?) throws {
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
        if !fresh.isEmpty, fresh.last != UInt8(ascii: "\n") {
            throw RuleViolation("an output does not end with a line feed")
        }
        step.lines = Lines(fresh).map { String(decoding: $0, as: UTF8.self) }
        bytesTaken = out.lines.count
        past.keep(out, after: written)
        if !step.outputs.isEmpty { steps.append(step) }
    }
}
