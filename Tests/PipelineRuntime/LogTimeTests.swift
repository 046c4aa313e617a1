import PipelineRuntime
import Synchronization
import Testing
import Time

/// The time of a log while the machine's clock runs evenly, is set back or jumps ahead.
@Suite struct LogTimeTests {
    private let machine = Machine()
    private let start = Instant(microseconds: 1_767_225_600_000_000)

    /// A clock that a test sets, and a monotonic clock.
    private final class Machine: Sendable {
        private let state = Mutex((wall: Duration.zero, elapsed: Duration.zero))
        private let zero = ContinuousClock.now

        func pass(_ duration: Duration) {
            state.withLock { $0 = ($0.wall + duration, $0.elapsed + duration) }
        }

        func set(by step: Duration) { state.withLock { $0.wall += step } }

        func time(from start: Instant) -> LogTime {
            LogTime(
                HostTime(
                    wall: { start.advanced(by: self.state.withLock { $0.wall }) },
                    monotonicNow: { self.zero + self.state.withLock { $0.elapsed } }))
        }
    }

    @Test func `the log's time is the machine's time while the clock runs evenly`() {
        var time = machine.time(from: start)
        #expect(time.now(from: .epoch) == start)
        for step in [1, 60, 3_600, 86_400] {
            let before = time.now(from: .epoch)
            machine.pass(.seconds(step))
            #expect(time.now(from: .epoch) - before == .seconds(step))
        }
        #expect(time.behind == .zero)
    }

    @Test(arguments: [-120, -3_600, -86_400 * 365])
    func `after the clock steps back, the log's time runs a tenth slower, and the difference is reported`(_ step: Int) {
        var time = machine.time(from: start)
        let before = time.now(from: .epoch)
        machine.set(by: .seconds(step))
        #expect(time.now(from: .epoch) == before)
        #expect(time.behind == .seconds(-step))
        machine.pass(.seconds(60))
        #expect(time.now(from: .epoch) - before == .seconds(54))
        #expect(time.behind == .seconds(-step - 6))
    }

    @Test func `some time after the clock steps back, the log's time is the machine's time again`() {
        var time = machine.time(from: start)
        _ = time.now(from: .epoch)
        machine.set(by: .seconds(-120))
        for _ in 0..<1_201 {
            machine.pass(.seconds(1))
            _ = time.now(from: .epoch)
        }
        #expect(time.behind == .zero)
        #expect(time.now(from: .epoch) == start.advanced(by: .seconds(1_201 - 120)))
    }

    /// A restart after a batch with the time of a clock that was years ahead.
    @Test func `the log's time continues from a log that is ahead`() {
        var time = machine.time(from: start)
        let log = start.advanced(by: .seconds(86_400 * 3_650))
        #expect(time.now(from: log) == log)
        #expect(time.behind == .seconds(86_400 * 3_650))
        machine.pass(.seconds(10))
        #expect(time.now(from: log) - log == .seconds(9))
    }

    @Test func `the log's time follows a later time in the upstream at once`() {
        var time = machine.time(from: start)
        _ = time.now(from: .epoch)
        machine.pass(.seconds(1))
        let later = start.advanced(by: .seconds(5))
        #expect(time.now(from: later) == later)
        #expect(time.behind == .zero)
    }

    @Test func `a day after the log's last batch, a host starts with the machine's time at once`() {
        var time = machine.time(from: start)
        machine.set(by: .seconds(86_400))
        #expect(time.now(from: start) - start == .seconds(86_400))
        #expect(time.behind == .zero)
    }

    @Test func `the log's time follows a short step forward of the machine's clock at once`() {
        var time = machine.time(from: start)
        let before = time.now(from: .epoch)
        machine.set(by: LogTime.stepMax)
        #expect(time.now(from: .epoch) - before == LogTime.stepMax)
        #expect(time.behind == .zero)
    }

    @Test func `after a long step forward of the machine's clock, the log's time catches up a minute in each second`() {
        var time = machine.time(from: start)
        let before = time.now(from: .epoch)
        machine.set(by: .seconds(3_600))
        #expect(time.now(from: .epoch) == before)
        #expect(time.behind == .seconds(-3_600))
        machine.pass(.seconds(10))
        #expect(time.now(from: .epoch) - before == .seconds(610))
        #expect(time.behind == .seconds(-3_000))
        machine.pass(.seconds(60))
        #expect(time.now(from: .epoch) - before == .seconds(3_670))
        #expect(time.behind == .zero)
    }
}
