import JSON
import PipelineKit
import Time

/// A stage with a simple host. The stage gets lines of its upstream's log, and the answer to each delivery at once.
package struct StageRun<S: Stage> {
    /// A line of the upstream's log, and when the stage gets it.
    package struct Arrival: Sendable {
        package var line: String
        package var microseconds: Int64

        package init(_ line: String, at microseconds: Int64 = 0) {
            self.line = line
            self.microseconds = microseconds
        }
    }

    package private(set) var clock: StageClock<S>
    package private(set) var sequence: UInt64
    private let past: PastInMemory?
    private var written = 0
    private let answer: (Delivery) -> TransportAnswer

    /// - Parameter past: Gets the stage's events, except the events of ``finish(wakesMax:)``. Runs that share a `past`
    ///   must write the same events.
    package init(
        _ stage: S, past: PastInMemory? = nil,
        answer: @escaping (Delivery) -> TransportAnswer = { TransportAnswer($0.id, .accepted) }
    ) {
        self.past = past
        clock = StageClock(stage)
        sequence = 0
        self.answer = answer
    }

    /// Wakes the stage at each deadline up to the line's time, and then gives the line to the stage.
    ///
    /// - Returns: Deliveries, rejections and events, one line each.
    package mutating func receive(_ arrival: Arrival) throws -> [String] {
        sequence += 1
        var out = Outbox()
        var parser = JSONParser()
        var line = arrival.line
        let time = Instant(microseconds: arrival.microseconds)
        var outputs: [String] = []
        while let deadline = clock.stage.deadline, deadline <= max(time, clock.now) { outputs += wake(&out) }
        try line.withUTF8 { bytes in
            let text = UnsafeRawBufferPointer(bytes)
            let event = InputEvent(sequence: sequence, json: try parser.parse(text), line: text)
            clock.receive(event, at: time, into: &out)
        }
        outputs += settle(&out)
        past?.keep(out, after: written)
        written += out.count
        return outputs + lines(&out)
    }

    /// Wakes the stage until it has no deadline.
    ///
    /// - Parameter wakesMax: The largest number of wakes.
    /// - Returns: Deliveries, rejections and events, one line each.
    package mutating func finish(wakesMax: Int = 10_000) -> [String] {
        var out = Outbox()
        var outputs: [String] = []
        for _ in 0..<wakesMax where clock.stage.deadline != nil { outputs += wake(&out) }
        return outputs + lines(&out)
    }

    private mutating func wake(_ out: inout Outbox) -> [String] {
        clock.serveNext(into: &out)
        return settle(&out)
    }

    private mutating func settle(_ out: inout Outbox) -> [String] {
        var outputs: [String] = []
        for delivery in out.takeDeliveries() {
            let line = String(decoding: delivery.line, as: UTF8.self)
            outputs.append("\(delivery.id.push) \(delivery.transport) \(line)")
            clock.receive(answer(delivery), into: &out)
        }
        return outputs
    }

    private func lines(_ out: inout Outbox) -> [String] {
        let rejected = out.takeRejections().map { "\($0.sequence) \($0.rejection.code) \($0.rejection.path)" }
        return rejected + String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The lines that `belfry state` shows.
    package var state: [String] {
        var lines = ByteBuffer()
        clock.stage.writeState(into: &lines)
        return lines.text.split(separator: "\n").map(String.init)
    }

    package var snapshot: [UInt8] {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        return Array(writer.buffer.bytes)
    }

    /// A run that continues this one with another stage, restored from a snapshot.
    package func resumed(with fresh: S, from snapshot: [UInt8]) throws -> StageRun {
        var (stage, run) = (fresh, self)
        var reader = SnapshotReader(snapshot.span.bytes)
        try stage.restore(from: &reader)
        if !reader.isAtEnd { throw reader.error("bytes are left after the stage's state") }
        run.clock = StageClock(stage, now: clock.now)
        return run
    }
}

/// The outputs, snapshots and state of a stage for the lines of a history after the cut: see ``StageRun``'s `split`.
package struct StageRecord: Equatable {
    /// The outputs for each line, and the outputs at the end.
    package var outputs: [[String]] = []
    /// The snapshots before the first line, after some lines, and after the last line.
    package var snapshots: [[UInt8]] = []
    /// The lines that `belfry state` shows after the last line of the history.
    package var state: [String] = []

    /// The first difference; nil if there is none.
    package func difference(from other: StageRecord) -> String? {
        if let step = outputs.indices.first(where: { outputs[$0] != other.outputs[$0] }) {
            let (one, two) = (outputs[step].joined(separator: " "), other.outputs[step].joined(separator: " "))
            return "outputs \(step) after the cut: \(one) | \(two)"
        }
        if let place = snapshots.indices.first(where: { snapshots[$0] != other.snapshots[$0] }) {
            return "snapshot \(place): \(snapshots[place].count) and \(other.snapshots[place].count) bytes"
        }
        return state == other.state ? nil : "the lines of `belfry state`"
    }
}

extension StageRun {
    /// Makes a snapshot after `cut` lines, and gives the other lines to the stage and to a stage restored from the
    /// snapshot.
    package static func split(
        _ history: [Arrival], at cut: Int, past: PastInMemory? = nil, answer: @escaping (Delivery) -> TransportAnswer,
        fresh: () throws -> S
    ) throws -> (uninterrupted: StageRecord, restored: StageRecord) {
        var run = StageRun(try fresh(), past: past, answer: answer)
        for arrival in history[..<cut] { _ = try run.receive(arrival) }
        let other = try run.resumed(with: fresh(), from: run.snapshot)
        return (try run.record(of: history[cut...]), try other.record(of: history[cut...]))
    }

    package static func split(
        _ history: [Arrival], at cut: Int, past: PastInMemory? = nil, fresh: () throws -> S
    ) throws -> (uninterrupted: StageRecord, restored: StageRecord) {
        try split(history, at: cut, past: past, answer: { TransportAnswer($0.id, .accepted) }, fresh: fresh)
    }

    private func record(of rest: ArraySlice<Arrival>) throws -> StageRecord {
        var (run, record) = (self, StageRecord())
        record.snapshots.append(run.snapshot)
        for (number, arrival) in rest.enumerated() {
            record.outputs.append(try run.receive(arrival))
            if number % 16 == 0 { record.snapshots.append(run.snapshot) }
        }
        record.state = run.state
        record.snapshots.append(run.snapshot)
        record.outputs.append(run.finish())
        return record
    }
}

// MARK: - Damage

/// How many damaged snapshots a stage accepted and refused.
package struct DamageReport: Equatable {
    /// Accepted snapshots that end early.
    package var prefixesAccepted = 0
    /// Accepted snapshots with one changed byte.
    package var changedBytesAccepted = 0
    package var changedBytesRefused = 0
}

extension StageRun {
    /// Restores a new stage from each prefix of this stage's snapshot. Then changes one byte of the snapshot at a time,
    /// to several values, and restores a new stage each time. A stage that accepts a damaged snapshot must process the
    /// history without a crash.
    ///
    /// In a long snapshot, the ordinary check uses only every tenth position. The seed selects the first position.
    package func damageReport(fresh: () throws -> S, then history: [Arrival]) throws -> DamageReport {
        let whole = snapshot
        let step = Tier.value(whole.count < 500 ? 1 : 10, full: 1)
        let places = stride(from: Int(Seeded.ofThisRun % UInt64(step)), to: whole.count, by: step)
        var report = DamageReport()
        for count in places where try accepts(Array(whole[..<count]), fresh, history) { report.prefixesAccepted += 1 }
        for index in places {
            for byte in StageRun.damagedBytes(from: whole[index]) {
                var bytes = whole
                bytes[index] = byte
                if try accepts(bytes, fresh, history) {
                    report.changedBytesAccepted += 1
                } else {
                    report.changedBytesRefused += 1
                }
            }
        }
        return report
    }

    private func accepts(_ snapshot: [UInt8], _ fresh: () throws -> S, _ history: [Arrival]) throws -> Bool {
        do {
            var run = try resumed(with: fresh(), from: snapshot)
            for arrival in history { _ = try run.receive(arrival) }
            _ = (run.state, run.snapshot, run.finish())
            return true
        } catch is SnapshotError {
            return false
        }
    }

    /// Other values for a byte: eight with one bit flipped, and values that often reveal errors in reading
    /// numbers and JSON.
    private static func damagedBytes(from byte: UInt8) -> Set<UInt8> {
        var damaged = Set((0..<8).map { byte ^ 1 << $0 })
        damaged.formUnion([0, 1, 0x7F, 0x80, 0xFF, byte &+ 1, byte &- 1, UInt8(ascii: "\""), UInt8(ascii: "}")])
        damaged.remove(byte)
        return damaged
    }
}
