import Glibc

/// Reads and writes a large file part by part, and leaves the disk to others between two parts.
package struct DiskPace: Sendable {
    /// How much of the time the disk may be kept busy, from 0 to 1; nil: as long as it takes.
    private let share: Double?
    private let isHurried: @Sendable () -> Bool

    static let partBytes = 256 << 10
    /// Where the disk itself is slow for a moment, waiting longer helps nobody.
    private static let restMax: Duration = .milliseconds(100)

    /// - Parameter isHurried: Whether it may go on without a rest after all.
    package init(share: Double? = nil, isHurried: @escaping @Sendable () -> Bool = { false }) {
        (self.share, self.isHurried) = (share, isHurried)
    }

    /// Reads or writes one part, and rests.
    func keep<Result, Failure: Error>(_ part: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let share, !isHurried() else { return try part() }
        let began = ContinuousClock.now
        let result = try part()
        let rest = min(DiskPace.restMax, (.now - began) * (1 / share - 1))
        usleep(UInt32(clamping: rest.wholeMicroseconds))
        return result
    }
}
