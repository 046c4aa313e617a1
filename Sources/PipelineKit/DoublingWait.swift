/// How long to wait before another attempt: each wait is twice the one before, up to a limit.
package struct DoublingWait: Hashable, Sendable {
    private let first: Duration
    private let most: Duration

    package init(first: Duration, most: Duration) { (self.first, self.most) = (first, most) }

    /// The wait after so many attempts, at least one.
    ///
    /// - Parameters:
    ///   - spread: The least and the most that a wait is multiplied with, so that many waits do not end together.
    ///   - jitter: Which of these, from 0 to 1.
    package func wait(after attempts: Int, spread: ClosedRange<Double> = 1...1, jitter: Double = 0) -> Duration {
        // Thirty doublings lead from a millisecond past any limit.
        let doubled = min(first * (1 << min(max(attempts, 1) - 1, 30)), most)
        return doubled * (spread.lowerBound + jitter * (spread.upperBound - spread.lowerBound))
    }
}
