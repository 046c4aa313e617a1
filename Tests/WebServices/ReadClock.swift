import Dispatch
import Synchronization

/// The clock of a gateway's reads in a test. It stands still until the test moves it, and a read that asks for the time
/// can be held.
final class ReadClock: Sendable {
    private struct State {
        var time = ContinuousClock.now
        var step = Duration.zero
        var holdsNext = false
    }

    private let state = Mutex(State())
    private let held = AsyncStream<Void>.makeStream()
    private let release = DispatchSemaphore(value: 0)

    func now() -> ContinuousClock.Instant {
        let mustWait = state.withLock { state in
            defer { state.holdsNext = false }
            return state.holdsNext
        }
        if mustWait {
            held.continuation.yield()
            release.wait()
        }
        return state.withLock { state in
            defer { state.time += state.step }
            return state.time
        }
    }

    func advance(by duration: Duration) { state.withLock { $0.time += duration } }

    /// From now on, the clock moves on by `step` each time a read asks for the time.
    func advance(byEachQuestion step: Duration) { state.withLock { $0.step = step } }

    /// Holds the next read that asks for the time, until ``releaseRead()``.
    func holdNextRead() { state.withLock { $0.holdsNext = true } }

    /// Returns when a read is held.
    func waitForRead() async { for await _ in held.stream { return } }

    func releaseRead() { release.signal() }
}
