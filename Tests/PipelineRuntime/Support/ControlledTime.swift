import PipelineRuntime
import Synchronization
import Time

/// Clocks that jump ahead when a test says so, and otherwise run as usual.
final class ControlledTime: Sendable {
    private let ahead = Mutex(Duration.zero)

    func advance(by duration: Duration) { ahead.withLock { $0 += duration } }

    private var lead: Duration { ahead.withLock { $0 } }

    var wall: Instant { Instant.wall().advanced(by: lead) }
    var time: HostTime { HostTime(wall: { self.wall }, monotonicNow: { .now + self.lead }) }
    /// Only the time of day jumps, so that no peer seems to have been silent.
    var timeOfDay: HostTime { HostTime(wall: { self.wall }) }
}
