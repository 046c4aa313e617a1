import EventLog
import PipelineKit

/// A long stretch of a stage's history, between two of its snapshots.
///
/// Spans are replayed beside each other. Each begins with a recorded state and ends by comparing its own with the next
/// one, so that all of them together say what one replay from the beginning would.
struct StageSpan: Hashable, Sendable {
    /// Nil: the logs' beginning.
    var start: SnapshotHeader?
    /// Nil: the logs' end.
    var end: SnapshotHeader?

    static let whole = StageSpan()

    /// The fewest bytes of input that are worth a span of their own, where the state is small.
    static let bytesMin: UInt64 = 48 << 20
    /// A span reads a state to begin with and one to end with: it must be long beside them.
    private static let bytesMinByState: UInt64 = 16
    private static let spansMax: UInt64 = 16

    /// - Parameters:
    ///   - headers: The stage's snapshots, the oldest first.
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
