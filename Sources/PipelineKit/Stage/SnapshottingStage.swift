/// A stage whose state is saved now and then, so that after a restart the stage does not need its whole input again.
public protocol SnapshottingStage: StageCore {
    /// The version of the snapshot's format. Raise it with every change, so that older snapshots are ignored. If nil,
    /// the stage takes no snapshots and is rebuilt from its whole input or, if it is a source, from its whole log.
    static var snapshotVersion: Int? { get }

    /// Writes everything that the stage's further outputs depend on, except its settings and context. The same state
    /// must give the same bytes. Not called in the middle of an event or a wake.
    func snapshot(into snapshot: inout SnapshotWriter)

    /// Replaces the state with a saved one. Called once, before anything else.
    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError)

    /// The first event of the stage's own log that the stage may have to read again; nil if it needs no event. The
    /// sequence never becomes smaller.
    var firstNeeded: UInt64? { get }
}

extension SnapshottingStage {
    public static var snapshotVersion: Int? { nil }
    public func snapshot(into snapshot: inout SnapshotWriter) {}
    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {}
    public var firstNeeded: UInt64? { nil }
}
