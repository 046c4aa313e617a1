import JSON
import PipelineKit

extension CoalesceStage {
    package static let snapshotVersion: Int? = 3
    package static let stateName: String? = "pending"

    package func snapshot(into snapshot: inout SnapshotWriter) { held.write(into: &snapshot) }

    package mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try held.read(from: &snapshot)
    }

    package func writeState(into lines: inout ByteBuffer) { held.writeState(into: &lines) }
}
