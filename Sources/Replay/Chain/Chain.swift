import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Runs a whole pipeline in memory, on virtual time: commands go in, every stage's events and the pushes come out.
///
/// Uses no sockets, threads or files, except that a stage with a `command` runs as a child process. Every push is
/// accepted at once. The events are byte for byte those of `belfry run` over the same lines.
package final class Chain {
    /// An event of one of the logs.
    package struct Event: Hashable, Sendable {
        package var sequence: UInt64
        /// The time of the event's batch.
        package var now: Instant
        /// One JSON object.
        package var text: String
    }

    /// A line that was rejected by the source, or before the source read it.
    package struct Refusal: Error, Hashable, Sendable {
        /// The number of the sent line, from 1.
        package var line: UInt64
        package var rejection: Rejection
    }

    private let source: ChainNode
    private var eventReader: EventReader
    private var line: UInt64 = 0
    private var time = Instant.epoch

    /// - Parameters:
    ///   - stages: Names of the stages to run, including the source; nil for all.
    ///   - seed: The log identities are derived from this seed, unless the file has its own seed.
    package init(
        _ file: PipelineFile, stages: Set<String>? = nil, registry: Registry, seed: String = "belfry run"
    ) throws {
        let factory = MachineFactory(registry: registry)
        let stages = stages ?? Set(file.stagesInOrder.map(\.name))
        source = try ChainNode(file.sourceStage, of: file, stages, factory, seed: file.seed ?? seed, upstream: nil)
        eventReader = EventReader.atDoor()
    }

    /// Sends one command at its `"time"`, or at the current time if it has no `"time"`.
    ///
    /// - Throws: ``Refusal`` if the command is rejected, for example because its `"time"` is in the past. Earlier and
    ///   later commands still have their effects.
    package func send(_ command: String) throws {
        line += 1
        let bytes = Array(command.utf8)
        try bytes.withUnsafeBytes { bytes in
            if let moment = try moment(of: bytes) { try source.receive(bytes, first: line, at: moment) }
        }
        if let rejection = source.takeRejection() { throw Refusal(line: line, rejection: rejection) }
    }

    /// Sends one command at `moment`, or at the current time if that is later. Ignores the command's `"time"`.
    ///
    /// - Returns: Whether the source wrote an event. It writes no event for a rejected command, and for some accepted
    ///   commands, such as a `zone.save` of an existing zone.
    package func send(_ command: String, at moment: Instant) throws -> Bool {
        line += 1
        time = max(time, moment)
        let count = source.events.count
        try Array(command.utf8).withUnsafeBytes { try source.receive($0, first: line, at: time) }
        _ = source.takeRejection()
        return source.events.count > count
    }

    /// Asks the stage that writes `log`, in its current state, to explain what an input event means for a subject.
    package func explain(
        _ event: String, sequence: UInt64, at now: Instant, by log: String, for subject: ExplainedSubject
    ) throws -> [Explanation] {
        try Array(event.utf8).withUnsafeBytes {
            try source.node(log)?.explain($0, sequence: sequence, at: now, for: subject) ?? []
        }
    }

    /// Wakes the stages for every deadline up to `moment`.
    package func advance(to moment: Instant) throws {
        time = max(time, moment)
        try source.advance(to: time)
    }

    /// Wakes the stages for every deadline, as `belfry run` does at the end of its input.
    package func finish() throws { try advance(to: .distantFuture) }

    /// The events of a log so far.
    package func events(of log: String) -> [Event] { source.node(log)?.events ?? [] }

    /// Names of the logs. Each comes after the log that it is made from.
    package var logs: [String] { source.names }

    /// The pushes that transports would send: JSON objects. Those of one stage are in order, and the stages come in the
    /// order of ``logs``.
    package var pushes: [String] { source.deliveries.map { String(decoding: $0.line, as: UTF8.self) } }

    /// The state of the stage that writes `log`, one JSON object a line.
    package func state(of log: String) -> String? { source.node(log)?.state }

    private func moment(of line: UnsafeRawBufferPointer) throws -> Instant? {
        var out = Outbox()
        var moment: Instant?
        if let event = eventReader.read(line, sequence: self.line, into: &out) {
            moment = VirtualTime.of(event, after: time, into: &out)
        }
        if let rejected = out.takeRejections().first {
            throw Refusal(line: self.line, rejection: rejected.rejection)
        }
        if let moment { time = moment }
        return moment
    }
}

/// A stage of a chain, with the stages that read from it.
private final class ChainNode {
    private let name: String
    private let machine: any StageMachine
    private let consumers: [ChainNode]
    /// The events that the source has written, because the source may read them again; nil for other stages.
    private let past: PastInMemory?
    private(set) var events: [Chain.Event] = []
    private(set) var rejections: [Rejection] = []
    private var delivered: [Delivery] = []
    private var time = Instant.epoch

    init(
        _ stage: PipelineStage, of file: PipelineFile, _ stages: Set<String>, _ factory: MachineFactory, seed: String,
        upstream: StageContext?
    ) throws {
        name = stage.logName
        past = upstream == nil ? PastInMemory() : nil
        let log = LogIdentity(seed: seed, name: stage.logName)
        var context = StageContext(
            log: log, upstream: upstream?.log ?? log,
            upstreamName: file.upstream(of: stage)?.logName ?? stage.logName)
        context.past = past
        machine = try factory.machine(stage, context: context, answers: AcceptedAnswers())
        machine.output.keepsDeliveries = true
        consumers = try file.downstream(of: stage).filter { stages.contains($0.name) }.map {
            try ChainNode($0, of: file, stages, factory, seed: seed, upstream: context)
        }
    }

    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws {
        try serveDeadlines(through: now)
        try machine.receive(lines, first: first, at: now)
        try pass(at: now)
    }

    func advance(to moment: Instant) throws {
        try serveDeadlines(through: moment)
        for consumer in consumers { try consumer.advance(to: moment) }
    }

    /// Each deadline makes its own batch, at its own time.
    private func serveDeadlines(through moment: Instant) throws {
        while let deadline = machine.deadline, deadline <= moment {
            try machine.advance(to: deadline)
            try pass(at: deadline)
        }
    }

    private func pass(at now: Instant) throws {
        defer { machine.output.removeAll() }
        time = max(time, now)
        delivered += machine.output.deliveries
        rejections += machine.output.outbox.takeRejections().map(\.rejection)
        guard machine.output.count > 0 else { return }
        let first = UInt64(events.count) + 1
        past?.keep(machine.output.outbox, after: events.count)
        for line in Lines(machine.output.lines) {
            let text = String(decoding: line, as: UTF8.self)
            events.append(Chain.Event(sequence: UInt64(events.count) + 1, now: time, text: text))
        }
        for consumer in consumers { try consumer.receive(machine.output.lines, first: first, at: time) }
    }

    var state: String? {
        var lines = ByteBuffer()
        (machine as? any StatefulMachine)?.writeState(into: &lines)
        return lines.text
    }

    func explain(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, at now: Instant, for subject: ExplainedSubject
    ) throws -> [Explanation] {
        try (machine as? any StatefulMachine)?.explain(line, sequence: sequence, at: now, for: subject) ?? []
    }

    func takeRejection() -> Rejection? {
        defer { rejections = [] }
        return rejections.first
    }

    func node(_ log: String) -> ChainNode? { name == log ? self : consumers.lazy.compactMap { $0.node(log) }.first }

    var names: [String] { [name] + consumers.flatMap(\.names) }
    var deliveries: [Delivery] { delivered + consumers.flatMap(\.deliveries) }
}
