import JSON
import PipelineKit

extension PayloadStage {
    package static let snapshotVersion: Int? = 2
    package static let stateName: String? = "badges"

    package func snapshot(into snapshot: inout SnapshotWriter) { badges.write(into: &snapshot) }

    package mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try badges.read(from: &snapshot)
    }

    package func writeState(into lines: inout ByteBuffer) { badges.writeState(into: &lines) }
}
