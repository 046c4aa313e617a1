import JSON
import PipelineKit

extension MatchStage {
    public static let snapshotVersion: Int? = 1
    public static let stateName: String? = "subscriptions"

    public func snapshot(into snapshot: inout SnapshotWriter) {
        tally.write(into: &snapshot)
        index.write(into: &snapshot)
    }

    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try tally.read(from: &snapshot)
        try index.read(from: &snapshot, settings)
    }

    public func writeState(into lines: inout ByteBuffer) { index.writeState(into: &lines, settings) }
}
