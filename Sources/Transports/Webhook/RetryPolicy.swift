import Foundation
import PipelineKit

/// Whether a push is tried again, and after which wait.
struct RetryPolicy: Sendable {
    /// The longest wait, unless the server asks for a longer one.
    static let backoffMax = Duration.seconds(30)
    /// The longest wait that a `Retry-After` can cause. A longer `Retry-After` counts as this wait.
    static let retryAfterMax = Duration.seconds(3_600)

    let attempts: Int
    let backoff: Duration

    /// Whether the same request may get another answer later: timeouts, "too early", "too many" and the server's own
    /// errors (RFC 9110, sections 15.5.9 and 15.6; RFC 8470, section 5.2; RFC 6585, section 4).
    static func isRetriable(_ status: Int) -> Bool { [408, 425, 429].contains(status) || status >= 500 }

    /// The wait after the given number of attempts; nil if there is no further attempt.
    ///
    /// - Parameters:
    ///   - retryAfter: The wait that the server asked for. The result is at least this long. A wait of more than
    ///     ``retryAfterMax`` counts as ``retryAfterMax``.
    ///   - jitter: A random number from 0 to 1. Spreads the retries of many pushes over the second half of the wait
    ///     that ``backoff`` gives. If `retryAfter` is longer than the spread wait, the result is `retryAfter`.
    func delay(afterAttempt attempt: Int, retryAfter: Duration?, jitter: Double) -> Duration? {
        guard attempt < attempts else { return nil }
        let own = DoublingWait(first: backoff, most: Self.backoffMax)
            .wait(after: attempt, spread: 0.5...1, jitter: jitter)
        return max(own, min(retryAfter ?? .zero, Self.retryAfterMax))
    }

    /// Reads a `Retry-After` header: seconds or a date (RFC 9110, sections 10.2.3 and 5.6.7). Nil for other values.
    static func retryAfter(_ value: String?, now: Date) -> Duration? {
        guard let value = value?.trimmingCharacters(in: .whitespaces), !value.isEmpty else { return nil }
        if value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return .seconds(Int(value.prefix(9)) ?? 0) }
        return httpDates.date(from: value).map { .seconds(max($0.timeIntervalSince(now), 0)) }
    }

    // IMF-fixdate, the only form of a date that servers may still send. The obsolete forms are not read.
    private static var httpDates: DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter
    }
}
