import NIOCore

/// How long a server may take to be ready, and how soon it is called again.
struct Dialing: Sendable {
    /// From the call to the server's first SETTINGS.
    var deadline = Duration.seconds(10)
    // Establishing a connection to APNs: keep connections, and do not open and close them fast.
    var firstWait = Duration.seconds(1)
    var longestWait = Duration.seconds(60)

    /// - Parameters:
    ///   - failures: How many there were in a row, at least one.
    ///   - jitter: From 0 to 1.
    func wait(afterFailures failures: Int, jitter: Double) -> TimeAmount {
        let doubled = min(firstWait * (1 << min(failures - 1, 16)), longestWait)
        return .nanoseconds((doubled * (0.5 + jitter / 2)).nanoseconds)
    }
}
