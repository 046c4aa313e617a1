import PipelineKit

/// How long a push waits before its next attempt.
struct Backoff: Sendable {
    /// The wait, without jitter, if the first attempt of a push gets a 5xx. If a later attempt gets a 5xx, this wait is
    /// doubled once for each earlier attempt, whatever answer that attempt got. Without jitter, the result is at most
    /// two hours.
    // Apple, "Handling notification responses from APNs": "retry after 15 minutes".
    var serverError = Duration.seconds(15 * 60)

    /// - Parameters:
    ///   - attempts: The number of attempts so far; below 1 counts as 1.
    ///   - jitter: A random number from 0 to 1.
    ///   - retryAfter: The wait that the server asked for. The result is at least as long.
    func wait(_ wait: Treatment.Wait, attempts: Int, jitter: Double, retryAfter: Duration? = nil) -> Duration {
        let (first, most) = bounds(of: wait)
        let own = DoublingWait(first: first, most: most).wait(after: attempts, spread: 0.8...1.2, jitter: jitter)
        return max(own, retryAfter ?? .zero)
    }

    private func bounds(of wait: Treatment.Wait) -> (first: Duration, most: Duration) {
        switch wait {
        case .briefly: (.seconds(1), .seconds(60))
        case .slowDevice: (.seconds(10), .seconds(600))
        case .serverError: (serverError, max(serverError, .seconds(2 * 3_600)))
        case .tokenPause: (.seconds(5 * 60), .seconds(20 * 60))
        }
    }
}
