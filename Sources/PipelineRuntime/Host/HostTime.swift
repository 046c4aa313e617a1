import EventLog

/// The clocks of a host: what time it is, and how long something takes.
package struct HostTime: Sendable {
    package var wall: @Sendable () -> Instant
    package var steady: @Sendable () -> ContinuousClock.Instant

    package init(
        wall: @escaping @Sendable () -> Instant = { Instant.wall() },
        steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.wall = wall
        self.steady = steady
    }
}
