import JSON
import PipelineKit

extension DeliverStage {
    public static let snapshotVersion: Int? = 1
    public static let stateName: String? = "devices"

    public func snapshot(into snapshot: inout SnapshotWriter) {
        precondition(ledger.isEmpty, "no snapshot is asked for while a push waits for its outcomes")
        registry.write(into: &snapshot)
    }

    public mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try registry.read(from: &snapshot)
    }

    public func writeState(into lines: inout ByteBuffer) { registry.writeState(into: &lines) }

    /// The answer in an outcome that a transport gave; nil for outcomes that need none.
    public static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer? {
        guard event.isOfType("outcome") else { return nil }
        let json = event.json
        guard let outcome = json["outcome"]?.string.flatMap(TransportAnswer.Outcome.init(rawValue:)),
            let push = json["push"]?.int64, push > 0,
            let device = json["device"]?.string,
            let attempts = json["attempts"]?.int64
        else { return nil }
        return TransportAnswer(
            Delivery.ID(push: UInt64(push), device: device), outcome, status: json["status"]?.int64.map { Int($0) },
            reason: json["reason"]?.string, attempts: Int(attempts))
    }
}
