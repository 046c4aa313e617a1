import JSON
import PipelineKit

extension IngestStage {
    package static let snapshotVersion: Int? = 2
    package static let stateName: String? = "records"

    package func snapshot(into snapshot: inout SnapshotWriter) {
        memory.write(into: &snapshot)
        databases.write(into: &snapshot)
    }

    package mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try memory.read(from: &snapshot)
        try databases.read(from: &snapshot)
    }

    package func writeState(into lines: inout ByteBuffer) { memory.writeState(into: &lines) }
}
