import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// A whole pipeline over a few commands, in this thread and on virtual time, as `belfry run` does it.
final class CaseChain {
    struct Event {
        let sequence: UInt64
        let text: String

        func withJSON<Result>(_ body: (JSONValue) throws -> Result) throws -> Result {
            try LoggedEvent(sequence: sequence, now: .epoch, line: Array(text.utf8)).withJSON(body)
        }
    }

    private let nodes: [CaseNode]
    private var now = Instant.epoch
    private var line: UInt64 = 0

    init(_ path: [PipelineStage], seed: String) throws {
        var upstream = path.first?.logName ?? ""
        nodes = try path.map { stage in
            let context = StageContext(
                log: LogIdentity(seed: seed, name: stage.logName), upstream: LogIdentity(seed: seed, name: upstream),
                upstreamName: upstream)
            upstream = stage.logName
            guard stage.command.isEmpty, let fresh = try FreshStage.make(stage, context) else {
                throw ToolFailure(
                    .configuration,
                    "stage \(stage.name) is a program of its own; a case is cut from pipelines of built-in stages only")
            }
            return CaseNode(stage.kind, fresh)
        }
    }

    /// - Returns: Whether ingest took it.
    func send(_ command: String, at time: Instant) throws -> Bool {
        now = max(now, time)
        line += 1
        let count = nodes[0].events.count
        try receive(CaseChain.Event(sequence: line, text: command), at: now, by: 0)
        return nodes[0].events.count > count
    }

    /// What match, as it stands, would say of the next command.
    func explain(_ event: LoggedEvent, for subject: ExplainedSubject) throws -> [Explanation] {
        try nodes.first { $0.kind == "match" }?.stage.explain(event, for: subject) ?? []
    }

    /// Serves everything that waits.
    func finish() throws { for index in nodes.indices { try serve(through: .distantFuture, index) } }

    func events(ofKind kind: String) -> [Event] { nodes.first { $0.kind == kind }?.events ?? [] }

    private func receive(_ event: Event, at now: Instant, by index: Int) throws {
        try serve(through: now, index)
        let new = try nodes[index].take(event, at: now)
        try pass(new, at: now, from: index)
    }

    private func serve(through time: Instant, _ index: Int) throws {
        let node = nodes[index]
        while let deadline = node.stage.deadline, deadline <= time {
            try pass(node.wake(at: deadline), at: deadline, from: index)
        }
    }

    private func pass(_ events: [Event], at now: Instant, from index: Int) throws {
        guard index + 1 < nodes.count else { return }
        for event in events { try receive(event, at: now, by: index + 1) }
    }
}

/// A stage of a chain, with all that it has said.
final class CaseNode {
    let kind: String
    var stage: any Stage
    private(set) var events: [CaseChain.Event] = []
    private var parser = JSONParser(limits: LogScan.limits)
    /// Empty between two events; kept for its memory.
    private var out = Outbox()

    init(_ kind: String, _ stage: any Stage) {
        self.kind = kind
        self.stage = stage
    }

    func take(_ event: CaseChain.Event, at now: Instant) throws -> [CaseChain.Event] {
        try Array(event.text.utf8).withUnsafeBytes { line in
            let json = try parser.parse(line)
            stage.receive(InputEvent(sequence: event.sequence, json: json, line: line), at: now, into: &out)
        }
        return collect(now)
    }

    func wake(at now: Instant) -> [CaseChain.Event] {
        stage.wake(at: now, into: &out)
        return collect(now)
    }

    /// Every push is accepted at once.
    private func collect(_ now: Instant) -> [CaseChain.Event] {
        for delivery in out.takeDeliveries() {
            stage.receive(TransportAnswer(delivery.id, .accepted), at: now, into: &out)
        }
        defer { out.discard() }
        let first = events.count
        for line in Lines(out.lines) {
            events.append(
                CaseChain.Event(sequence: UInt64(events.count + 1), text: String(decoding: line, as: UTF8.self)))
        }
        return Array(events[first...])
    }
}
