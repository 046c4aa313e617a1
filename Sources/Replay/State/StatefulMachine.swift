import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A machine that can begin with a snapshot.
protocol RestorableMachine: StageMachine {
    /// Sets state and time from a snapshot. Called before any input.
    ///
    /// - Throws: ``SnapshotError`` when this state does not fit; the caller may try another snapshot.
    func restore(_ state: [UInt8], _ header: SnapshotHeader) throws
}

/// A machine that can also show its state.
protocol StatefulMachine: RestorableMachine {
    /// Feeds a source the events of its own log, as at a restart.
    func recall(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant)

    /// Writes the stage's main state, one JSON object a line.
    func writeState(into lines: inout ByteBuffer)

    /// Writes the state of this name, one JSON object a line.
    func writeState(_ name: String, into lines: inout ByteBuffer)

    /// See ``InspectableStage/findings(of:)``.
    func findings(of name: String) -> [StageFinding]

    /// The state in snapshot form.
    func state() -> [UInt8]

    /// Asks the stage, in its current state, to explain what an event means for a subject.
    func explain(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, at now: Instant, for subject: ExplainedSubject
    ) throws -> [Explanation]
}

extension SwiftMachine: StatefulMachine {
    func state() -> [UInt8] {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        return Array(writer.buffer.bytes)
    }

    func explain(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, at now: Instant, for subject: ExplainedSubject
    ) throws -> [Explanation] {
        var parser = JSONParser(limits: EventReader.linkLimits)
        let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
        return clock.stage.explain(event, at: now, for: subject)
    }

    func findings(of name: String) -> [StageFinding] { clock.stage.findings(of: name) }

    func writeState(into lines: inout ByteBuffer) { clock.stage.writeState(into: &lines) }

    func writeState(_ name: String, into lines: inout ByteBuffer) {
        guard name != S.stateName else { return clock.stage.writeState(into: &lines) }
        clock.stage.writeState(name, into: &lines)
    }
}

/// Finds the snapshots that a machine can begin with.
struct SnapshotSearch: Sendable {
    private let store: SnapshotStore
    private let fit: SnapshotFit

    /// Nil for a stage that takes no snapshots.
    init?(_ recorded: RecordedStage, _ type: any Stage.Type) {
        guard let version = type.snapshotVersion else { return nil }
        store = SnapshotStore(logDirectory: recorded.log.directory)
        fit = SnapshotFit(
            stage: recorded.stage.kind, version: version, log: recorded.log.identity,
            upstream: recorded.context.upstream, lastSequence: recorded.log.lastSequence)
    }

    /// The headers of the snapshots that fit the stage and its log, oldest first.
    func headers(where isWanted: (SnapshotHeader) -> Bool = { _ in true }) throws(EventLogError) -> [SnapshotHeader] {
        try store.list().compactMap(\.header).filter { fit.objection(to: $0) == nil && isWanted($0) }
    }

    func largestBytes() throws(EventLogError) -> UInt64 { try store.list().map(\.bytes).max() ?? 0 }

    /// A snapshot with its state; nil when it is gone or cannot be read.
    func snapshot(_ header: SnapshotHeader, problem: (String) -> Void) throws(EventLogError) -> Snapshot? {
        try store.newest(fitting: fit, where: { $0 == header }, problem: problem)
    }

    /// Restores machines from the oldest snapshot that the stage's logs can continue, and that is not before
    /// `position`. Without such a snapshot, the machines stay at the beginning.
    ///
    /// - Throws: ``ReplayError/trimmed(log:first:)`` if there is no such snapshot and the logs' beginning is gone.
    func restoreOldest(
        _ machines: [any StageMachine], of stage: RecordedStage, from position: UInt64 = 0, problem: (String) -> Void
    ) throws -> StageStart {
        for header in try headers(where: { stage.covers($0) && $0.position >= position }) {
            if let start = try restore(machines, header, problem: problem) { return start }
        }
        try stage.checkBeginning()
        return .beginning
    }

    /// Restores machines, in order, until a machine cannot be restored. This machine and the machines after it keep the
    /// state that they had.
    ///
    /// - Returns: Nil if a machine could not be restored.
    func restore(
        _ machines: [any StageMachine], _ header: SnapshotHeader, problem: (String) -> Void
    ) throws -> StageStart? {
        for machine in machines {
            guard let machine = machine as? any RestorableMachine,
                try restore(machine, where: { $0 == header }, problem: problem) != .beginning
            else { return nil }
        }
        return StageStart(header)
    }

    /// Restores a machine from the newest wanted snapshot. Without such a snapshot the machine stays at the beginning.
    ///
    /// - Parameter problem: Called for each unusable snapshot.
    func restore(
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
        return StageStart(header)
    }
}
