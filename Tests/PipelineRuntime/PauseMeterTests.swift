import Synchronization
import Testing

@testable import PipelineRuntime

/// A turn is one pass of a host's loop.
struct PauseMeterTests {
    @Test func `a turn counts for the cause that took most of it, and only the longest turn of each cause is kept`() {
        let clock = SteppedClock()
        var meter = PauseMeter { clock.now }
        func turn(_ laps: (PauseMeter.Cause, Int)...) {
            meter.begin()
            for (cause, milliseconds) in laps {
                clock.pass(milliseconds)
                meter.lap(cause)
            }
            meter.end()
            clock.pass(1_000)
        }
        func pauses() -> [String] { meter.pauses.map { "\($0.cause.rawValue) \($0.duration / .milliseconds(1))" } }
        turn((.consumers, 1), (.input, 2), (.segment, 4), (.input, 1))
        turn((.input, 3), (.segment, 1))
        turn((.segment, 3))
        #expect(pauses() == ["input 4.0", "segment 8.0"])
        meter.forget()
        #expect(pauses().isEmpty)
        turn((.snapshot, 2))
        #expect(pauses() == ["snapshot 2.0"])
    }
}

private final class SteppedClock: Sendable {
    private let passed = Mutex(Duration.zero)
    private let start = ContinuousClock.now

    var now: ContinuousClock.Instant { start + passed.withLock { $0 } }

    func pass(_ milliseconds: Int) { passed.withLock { $0 += .milliseconds(milliseconds) } }
}
