import EventLog
import PipelineKit

/// A span of a stage's history. It begins at the beginning of the logs or at a snapshot, and ends at a snapshot or at
/// the end of the logs.
///
/// Spans can be replayed in parallel. The replay of a span begins with the recorded state of a snapshot, or goes on
/// with the machine that has just replayed the span before it. At the end, it compares the replayed state with the
/// recorded state of the next snapshot. So all spans together prove the same as one replay from the beginning.
struct StageSpan: Hashable, Sendable {
    /// Nil means the logs' beginning.
    var start: SnapshotHeader?
    /// Nil means the logs' end.
    var end: SnapshotHeader?

    static let whole = StageSpan()

    /// A history is cut only into spans whose input has at least this many bytes on average. A history that
    /// is not cut may have fewer bytes.
    static let bytesMin: UInt64 = 48 << 20
    /// The average input of a span also has at least this many times the bytes of the largest snapshot, because a span
    /// reads up to two snapshots.
    private static let bytesMinByState: UInt64 = 16
    private static let spansMax: UInt64 = 16

    /// - Parameters:
    ///   - headers: The stage's snapshots, oldest first.
    ///   - bytes: The input's size.
    ///   - stateBytes: The largest snapshot's size.
    static func spans(
        of headers: [SnapshotHeader], inputLast: UInt64, bytes: UInt64, stateBytes: UInt64, bytesMin: UInt64
    ) -> [StageSpan] {
        let count = min(max(bytes / max(bytesMin, bytesMinByState * stateBytes), 1), spansMax)
        var ends: [SnapshotHeader] = []
        for index in 1..<max(count, 1) {
            let wanted = inputLast / count * index
            let near = headers.min { distance($0.position, wanted) < distance($1.position, wanted) }
            if let near, near.position > ends.last?.position ?? 0, near.position < inputLast { ends.append(near) }
        }
        let bounds = [nil] + ends.map(Optional.some) + [nil]
        return zip(bounds, bounds.dropFirst()).map { StageSpan(start: $0, end: $1) }
    }

    private static func distance(_ left: UInt64, _ right: UInt64) -> UInt64 {
        left > right ? left - right : right - left
    }
}
