import Time

/// The clocks of a host: what time it is, and how long something takes.
package struct HostTime: Sendable {
    package var wall: @Sendable () -> Instant
    package var steady: @Sendable () -> ContinuousClock.Instant
    /// Another number each time the machine is started: then files hold no more than what was forced to the disk.
    package var boot: @Sendable () -> UInt64 = { ProcessFacts.boot }

    package init(
        wall: @escaping @Sendable () -> Instant = { Instant.wall() },
        steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.wall = wall
        self.steady = steady
    }
}
