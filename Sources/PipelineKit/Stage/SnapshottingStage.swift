/// A stage whose state is put aside now and then, so that a restart need not feed it all of its past.
public protocol SnapshottingStage: StageCore {
    /// Which form the stage's snapshots have: raise it with every change, so that older ones are left aside. Nil: the
    /// stage takes none, and is rebuilt from all of its input.
    static var snapshotVersion: Int? { get }

    /// Writes all that the stage's future depends on, beside its settings and context. The same state gives the same
    /// bytes. Never asked for while a push that the stage handed out is unanswered.
    func snapshot(into snapshot: inout SnapshotWriter)

    /// Takes over the state of another of its kind. Called once, before anything else.
    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError)
}

extension SnapshottingStage {
    public static var snapshotVersion: Int? { nil }
    public func snapshot(into snapshot: inout SnapshotWriter) {}
    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {}
}
