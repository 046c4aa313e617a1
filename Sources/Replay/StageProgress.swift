import Synchronization

/// Counts the input events and the bytes that the replay of one stage, or a what-if, has read. Other threads read the
/// counters. They may also cancel the replay of a stage, but not a what-if.
package final class StageProgress: Sendable {
    package let stage: String
    /// The size of the stage's input and of its own log; for a what-if, the size of the logs that it reads as input.
    package let bytesTotal: UInt64
    private let eventCount = Atomic<UInt64>(0)
    private let byteCount = Atomic<UInt64>(0)
    private let cancelled = Atomic(false)

    package init(stage: String, bytesTotal: UInt64) {
        self.stage = stage
        self.bytesTotal = bytesTotal
    }

    package var events: UInt64 { eventCount.load(ordering: .relaxed) }
    package var bytes: UInt64 { byteCount.load(ordering: .relaxed) }
    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    package func cancel() { cancelled.store(true, ordering: .relaxed) }

    func add(events: Int, bytes: Int) {
        eventCount.add(UInt64(events), ordering: .relaxed)
        byteCount.add(UInt64(bytes), ordering: .relaxed)
    }
}
