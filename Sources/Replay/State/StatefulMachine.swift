import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A machine whose state can be put back.
package protocol RestorableMachine: StageMachine {
    /// Takes over the state of a snapshot, before anything else.
    ///
    /// - Throws: ``SnapshotError`` where the state is not what it can take over; another may be tried.
    func restore(_ state: [UInt8], _ header: SnapshotHeader) throws
}

/// A machine whose state can also be shown.
package protocol StatefulMachine: RestorableMachine {
    /// Takes back a source's own events.
    func recall(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant)

    /// One JSON object a line.
    func writeState(into lines: inout ByteBuffer)

    /// The part of it that has that name, in the same form.
    func writeState(_ name: String, into lines: inout ByteBuffer)

    /// What an operator should know about it; see ``InspectableStage/findings(of:)``.
    func findings(of name: String) -> [StageFinding]

    /// The state as a snapshot holds it.
    func state() -> [UInt8]

    /// What the stage, as it stands, would say of an event for a subject.
    func explain(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, at now: Instant, for subject: ExplainedSubject
    ) throws -> [Explanation]
}

extension SwiftMachine: StatefulMachine {
    package func state() -> [UInt8] {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        return Array(writer.buffer.bytes)
    }

    package func explain(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, at now: Instant, for subject: ExplainedSubject
    ) throws -> [Explanation] {
        var parser = JSONParser(limits: EventReader.linkLimits)
        let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
        return clock.stage.explain(event, at: now, for: subject)
    }

    package func findings(of name: String) -> [StageFinding] { clock.stage.findings(of: name) }

    package func writeState(into lines: inout ByteBuffer) { clock.stage.writeState(into: &lines) }

    package func writeState(_ name: String, into lines: inout ByteBuffer) {
        guard name != S.stateName else { return clock.stage.writeState(into: &lines) }
        clock.stage.writeState(name, into: &lines)
    }
}

/// Finds the snapshots that a machine can begin with.
package struct SnapshotSearch: Sendable {
    private let store: SnapshotStore
    private let fit: SnapshotFit

    /// Nil for a stage that takes none.
    init?(_ recorded: RecordedStage, _ type: any Stage.Type) {
        guard let version = type.snapshotVersion else { return nil }
        store = SnapshotStore(logDirectory: recorded.log.directory)
        fit = SnapshotFit(
            stage: recorded.stage.kind, version: version, log: recorded.log.identity,
            upstream: recorded.context.upstream, lastSequence: recorded.log.lastSequence)
    }

    /// Those that fit, as far as headers tell, the oldest first.
    func headers(where isWanted: (SnapshotHeader) -> Bool = { _ in true }) throws(EventLogError) -> [SnapshotHeader] {
        try store.list().compactMap(\.header).filter { fit.objection(to: $0) == nil && isWanted($0) }
    }

    func largestBytes() throws(EventLogError) -> UInt64 { try store.list().map(\.bytes).max() ?? 0 }

    /// A snapshot with its state; nil where it cannot be read.
    func snapshot(_ header: SnapshotHeader, problem: (String) -> Void) throws(EventLogError) -> Snapshot? {
        try store.newest(fitting: fit, where: { $0 == header }, problem: problem)
    }

    /// Puts the newest state that is wanted into a machine; without one the machine begins at the beginning.
    ///
    /// - Parameter problem: Told of each snapshot that cannot be used.
    package func restore(
        _ machine: any RestorableMachine, where isWanted: (SnapshotHeader) -> Bool, problem: (String) -> Void
    ) throws -> StageStart {
        guard let snapshot = try store.newest(fitting: fit, where: isWanted, problem: problem) else {
            return .beginning
        }
        let header = snapshot.header
        do {
            try machine.restore(snapshot.state, header)
        } catch let error as SnapshotError {
            problem("\(snapshot.path): \(error)")
            return try restore(machine, where: { isWanted($0) && $0.sequence < header.sequence }, problem: problem)
        }
        return StageStart(cursor: header.position, sequence: header.sequence, now: header.now)
    }
}
