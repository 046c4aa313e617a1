import Time

/// The time that a stage's log goes by: the machine's clock, but it never goes back and never stands still.
///
/// Where the machine's clock is behind the log, because it was set back or because the log was once stamped by a clock
/// that was wrong, the log's time goes on from where it is, as fast as time passes. So what waits for a time waits for as
/// long as it was to, and not until the clock has caught up.
package struct LogTime {
    /// A step forward of the machine's clock up to this long is taken at once. Of a longer one so much is taken in each
    /// second that passes, so that a clock set wrong by years does not end everything that waits.
    package static let stepMax = Duration.seconds(60)
    private static let pace = Int(stepMax.components.seconds)
    /// The operator is told when the machine's clock is further behind.
    package static let lagTold = Duration.seconds(10)
    /// While the machine's clock is behind, one part in so many of the time that passes is left out.
    private static let slowness = 10

    private let sources: HostTime
    private var last: (time: Instant, steady: ContinuousClock.Instant)?
    /// How far the machine's clock is behind the log's time; negative where it is ahead. Zero unless that is to be told.
    package private(set) var behind = Duration.zero

    package init(_ sources: HostTime) { self.sources = sources }

    /// What time it is. When it is asked for the first time the machine's clock counts as far as it is ahead of the log.
    ///
    /// - Parameter log: The latest time that the stage knows of, from its own log or the one it reads.
    package mutating func now(from log: Instant) -> Instant {
        let (wall, steady) = (sources.wall(), sources.steady())
        let time = last.map { follow(wall, $0.time, passed: max(.zero, steady - $0.steady), log) } ?? max(log, wall)
        last = (time, steady)
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
        let isToBeTold = behind > .zero ? lag > .seconds(1) : lag > Self.lagTold || lag < .zero - Self.stepMax
        behind = isToBeTold ? .seconds(lag.components.seconds) : .zero
    }
}
