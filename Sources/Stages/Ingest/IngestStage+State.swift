import JSON
import PipelineKit

extension IngestStage {
    package static let snapshotVersion: Int? = 4
    package static let stateName: String? = "records"

    package func snapshot(into snapshot: inout SnapshotWriter) {
        snapshot.write(nextSequence)
        memory.write(into: &snapshot)
        databases.write(into: &snapshot)
    }

    package mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        nextSequence = try snapshot.number()
        try memory.read(from: &snapshot, before: nextSequence)
        try databases.read(from: &snapshot)
    }

    package var firstNeeded: UInt64? { memory.firstNeeded }

    package func writeState(into lines: inout ByteBuffer) { memory.writeState(reader.pastEvents, into: &lines) }
}
