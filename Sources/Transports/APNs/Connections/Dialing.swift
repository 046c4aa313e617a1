import NIOCore
import PipelineKit

/// How long the opening of a connection may take, and how soon the next connection is opened after a failure.
struct Dialing: Sendable {
    /// The longest time from the start of the attempt to the server's first SETTINGS.
    var timeout = Duration.seconds(10)
    // Clients should keep connections, and not open and close them fast (Apple, "Establishing a connection to APNs").
    /// The wait after the first failure, before jitter. It doubles with each further failure, up to ``longestWait``.
    var firstWait = Duration.seconds(1)
    var longestWait = Duration.seconds(60)

    /// - Parameters:
    ///   - failures: The number of failures in a row, at least 1.
    ///   - jitter: A random number from 0 to 1.
    func wait(afterFailures failures: Int, jitter: Double) -> TimeAmount {
        TimeAmount(
            DoublingWait(first: firstWait, most: longestWait).wait(after: failures, spread: 0.5...1, jitter: jitter))
    }
}
