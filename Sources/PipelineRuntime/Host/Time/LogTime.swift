import Time

/// The time of a stage's log: the machine's clock, except that it never goes back and never stops.
///
/// The machine's clock may be behind the log, because it was set back or because a wrong clock once stamped the log.
/// Then the log's time continues from its last value, at nearly the usual speed. So each wait takes about its usual
/// time, and does not last until the clock has caught up.
package struct LogTime {
    /// If the machine's clock jumps ahead by at most this much, the log's time follows at once. After a longer jump the
    /// log's time gains this much in each second, so that a clock that is years ahead does not end all waits at once.
    package static let stepMax = Duration.seconds(60)
    private static let pace = Int(stepMax.components.seconds)
    /// The operator is told when the machine's clock is further behind than this.
    package static let reportedLag = Duration.seconds(10)
    /// While the machine's clock is behind, the log's time runs slower by one part in this many.
    private static let slowness = 10

    private let sources: HostTime
    private var last: (time: Instant, monotonic: ContinuousClock.Instant)?
    /// How far the machine's clock is behind the log's time; negative if it is ahead. Zero for small differences.
    package private(set) var behind = Duration.zero

    package init(_ sources: HostTime) { self.sources = sources }

    /// The log's time now. It is never before `log`, which is the latest time that the stage knows. The first call
    /// returns the machine's time if the machine's time is later than `log`.
    package mutating func now(from log: Instant) -> Instant {
        let (wall, monotonic) = (sources.wall(), sources.monotonicNow())
        let time =
            last.map { follow(wall, $0.time, passed: max(.zero, monotonic - $0.monotonic), log) } ?? max(log, wall)
        last = (time, monotonic)
        note(time - wall)
        return time
    }

    private func follow(_ wall: Instant, _ last: Instant, passed: Duration, _ log: Instant) -> Instant {
        let expected = max(last.advanced(by: passed), log)
        let lead = wall - expected
        if lead > Self.stepMax { return expected.advanced(by: min(lead, passed * Self.pace)) }
        if lead >= .zero { return wall }
        return max(expected.advanced(by: .zero - min(.zero - lead, passed / Self.slowness)), last, log)
    }

    private mutating func note(_ lag: Duration) {
        let isReported = behind > .zero ? lag > .seconds(1) : lag > Self.reportedLag || lag < .zero - Self.stepMax
        behind = isReported ? .seconds(lag.components.seconds) : .zero
    }
}
