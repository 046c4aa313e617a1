import Glibc

/// A point in time, in microseconds since 1970-01-01T00:00:00Z (POSIX time: no leap seconds).
///
/// Every batch of a log has a time. The times of a log never go back.
public struct Instant: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var microseconds: Int64

    /// 1970-01-01T00:00:00Z. No batch of a log is earlier.
    public static let epoch = Instant(microseconds: 0)

    /// The last time that RFC 3339 can express: 9999-12-31T23:59:59.999999Z. As a deadline it means "never".
    public static let distantFuture = Instant(microseconds: 253_402_300_799_999_999)

    /// Accepts any number. In logs, times are between ``epoch`` and ``distantFuture``.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The time between two instants, limited to the microseconds that fit into `Int64`. Negative if `left` is earlier.
    public static func - (left: Instant, right: Instant) -> Duration {
        let (difference, overflow) = left.microseconds.subtractingReportingOverflow(right.microseconds)
        return .microseconds(overflow ? (left > right ? Int64.max : Int64.min) : difference)
    }

    /// This instant plus a duration, which is rounded towards zero to whole microseconds. The result is at
    /// least ``epoch`` and at most ``distantFuture``.
    public func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        let moved = overflow ? (duration > .zero ? Int64.max : Int64.min) : sum
        return Instant(microseconds: min(max(moved, Instant.epoch.microseconds), Instant.distantFuture.microseconds))
    }

    /// The time of the machine's clock. This clock may go back or jump ahead. A host therefore takes the time of its
    /// log from `LogTime`.
    package static func wall() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}

extension Duration {
    /// Whole microseconds, rounded towards zero and limited to the range of `Int64`.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, overflowToo) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflow || overflowToo ? (seconds < 0 ? .min : .max) : sum
    }
}
