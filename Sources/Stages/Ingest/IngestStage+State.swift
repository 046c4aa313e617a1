import JSON
import PipelineKit

extension IngestStage {
    public static let snapshotVersion: Int? = 2
    public static let stateName: String? = "records"

    public func snapshot(into snapshot: inout SnapshotWriter) {
        memory.write(into: &snapshot)
        homes.write(into: &snapshot)
    }

    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try memory.read(from: &snapshot)
        try homes.read(from: &snapshot)
    }

    public func writeState(into lines: inout ByteBuffer) { memory.writeState(into: &lines) }
}
