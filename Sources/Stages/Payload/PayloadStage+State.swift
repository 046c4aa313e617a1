import JSON
import PipelineKit

extension PayloadStage {
    public static let snapshotVersion: Int? = 2
    public static let stateName: String? = "badges"

    public func snapshot(into snapshot: inout SnapshotWriter) { badges.write(into: &snapshot) }

    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try badges.read(from: &snapshot)
    }

    public func writeState(into lines: inout ByteBuffer) { badges.writeState(into: &lines) }
}
