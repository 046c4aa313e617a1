import PipelineKit

extension Watchers {
    /// Writes the subscriptions as a stage's snapshot holds them.
    package func write(into snapshot: inout SnapshotWriter) { index.write(into: &snapshot) }

    /// Takes over the subscriptions of a snapshot, before any other.
    package mutating func read(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try index.read(from: &snapshot, MatchSettings())
    }
}
