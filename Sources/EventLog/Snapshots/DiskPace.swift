import Glibc

/// Limits the speed of reading and writing a large file, so that other programs can use the disk in between.
package struct DiskPace: Sendable {
    /// The share of time in which the disk may be busy, from 0 to 1; nil for no limit.
    private let share: Double?
    private let isHurried: @Sendable () -> Bool

    static let partBytes = 256 << 10
    /// The longest pause. After a slow part, a longer pause would not help other programs.
    private static let restMax: Duration = .milliseconds(100)

    /// - Parameter isHurried: Returns true to continue without pauses.
    package init(share: Double? = nil, isHurried: @escaping @Sendable () -> Bool = { false }) {
        (self.share, self.isHurried) = (share, isHurried)
    }

    /// Reads or writes one part, then pauses.
    func runPaced<Result, Failure: Error>(_ part: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let share, !isHurried() else { return try part() }
        let began = ContinuousClock.now
        let result = try part()
        let rest = min(DiskPace.restMax, (.now - began) * (1 / share - 1))
        usleep(UInt32(clamping: rest.wholeMicroseconds))
        return result
    }
}
