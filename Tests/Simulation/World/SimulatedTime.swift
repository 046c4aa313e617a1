import PipelineRuntime
import Synchronization
import Time

/// A clock that the simulation moves. A fault may set the wall clock forward or back. The monotonic clock only moves
/// forward.
final class SimulatedTime: Sendable {
    private struct State {
        var elapsed = Duration.zero
        var wall = Instant(microseconds: 1_767_225_600_000_000)
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    var elapsed: Duration { state.withLock { $0.elapsed } }
    var wall: Instant { state.withLock { $0.wall } }

    func pass(_ duration: Duration) {
        state.withLock { state in
            state.elapsed += duration
            state.wall = state.wall.advanced(by: duration)
        }
    }

    func setWall(by shift: Duration) { state.withLock { $0.wall = $0.wall.advanced(by: shift) } }

    var hostTime: HostTime { HostTime(wall: { self.wall }, monotonicNow: { self.start + self.elapsed }) }
}
