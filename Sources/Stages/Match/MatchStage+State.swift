import JSON
import PipelineKit

extension MatchStage {
    package static let snapshotVersion: Int? = 1
    package static let stateName: String? = "subscriptions"

    package func snapshot(into snapshot: inout SnapshotWriter) {
        tally.write(into: &snapshot)
        index.write(into: &snapshot)
    }

    package mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try tally.read(from: &snapshot)
        try index.read(from: &snapshot, settings)
    }

    package func writeState(into lines: inout ByteBuffer) { index.writeState(into: &lines, settings) }
}
