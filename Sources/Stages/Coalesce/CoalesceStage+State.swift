import JSON
import PipelineKit

extension CoalesceStage {
    public static let snapshotVersion: Int? = 2
    public static let stateName: String? = "pending"

    public func snapshot(into snapshot: inout SnapshotWriter) { held.write(into: &snapshot) }

    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try held.read(from: &snapshot)
    }

    public func writeState(into lines: inout ByteBuffer) { held.writeState(into: &lines) }
}
