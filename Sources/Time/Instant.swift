import Glibc

/// A moment, in microseconds since 1970-01-01T00:00:00Z (POSIX time: no leap seconds).
///
/// Every batch of a log carries one, and within a log it never goes back.
public struct Instant: Hashable, Comparable, Sendable {
    /// Since 1970-01-01T00:00:00Z, without leap seconds.
    public var microseconds: Int64

    /// 1970-01-01T00:00:00Z, before which no log has a batch.
    public static let epoch = Instant(microseconds: 0)

    /// The last moment that RFC 3339 can write: 9999-12-31T23:59:59.999999Z. Stands for "never".
    public static let distantFuture = Instant(microseconds: 253_402_300_799_999_999)

    /// Any number is taken; those of a log lie between ``epoch`` and ``distantFuture``.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The time between two moments; fractions of a microsecond do not occur.
    public static func - (left: Instant, right: Instant) -> Duration {
        let (difference, overflow) = left.microseconds.subtractingReportingOverflow(right.microseconds)
        return .microseconds(overflow ? (left > right ? Int64.max : Int64.min) : difference)
    }

    /// This moment moved by a duration, cut to whole microseconds and kept between ``epoch`` and ``distantFuture``.
    public func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        let moved = overflow ? (duration > .zero ? Int64.max : Int64.min) : sum
        return Instant(microseconds: min(max(moved, Instant.epoch.microseconds), Instant.distantFuture.microseconds))
    }

    /// What the machine's clock says. It may go back; whoever stamps a log keeps the greater of this and the last.
    package static func wall() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }
}

extension Duration {
    /// Cut towards zero; the nearest end of `Int64` where it does not fit.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, overflowToo) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return overflow || overflowToo ? (seconds < 0 ? .min : .max) : sum
    }
}
