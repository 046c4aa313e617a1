/// The wait before another attempt. Each wait is twice as long as the previous one, up to a limit. The wait is then
/// multiplied by a factor, so it can exceed the limit.
package struct DoublingWait: Hashable, Sendable {
    private let first: Duration
    private let most: Duration

    package init(first: Duration, most: Duration) { (self.first, self.most) = (first, most) }

    /// The wait before the next attempt.
    ///
    /// - Parameters:
    ///   - attempts: How many attempts were made; below 1 counts as 1.
    ///   - spread: The smallest and the largest factor for the wait. Different factors keep many waits from ending
    ///     together.
    ///   - jitter: Selects the factor: 0 for the smallest, 1 for the largest.
    package func wait(after attempts: Int, spread: ClosedRange<Double> = 1...1, jitter: Double = 0) -> Duration {
        // Thirty doublings of a millisecond exceed any limit.
        let doubled = min(first * (1 << min(max(attempts, 1) - 1, 30)), most)
        return doubled * (spread.lowerBound + jitter * (spread.upperBound - spread.lowerBound))
    }
}
