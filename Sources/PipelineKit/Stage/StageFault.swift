import Time

/// A stage asks to be woken without end, so its host would do nothing else. The host ends with this error.
///
/// Wakes are counted by the stage's own time, so that a replay finds the same fault.
public struct StageFault: Error, Hashable, Sendable {
    /// This many wakes in a row are a fault if all of these hold:
    ///
    /// - All come within a second of the stage's time.
    /// - No event or answer comes between them.
    /// - Each has no output, or the stage's next deadline after it is not later than the wake.
    public static let wakesUntilFault = 100_000

    /// The stage's name in the pipeline file, or its kind.
    public var stage: String
    /// How many such wakes in a row there were from ``from`` to ``to``. If the host found the fault at the end of a
    /// `belfry run`, this counts all such wakes in a row, even if they are more than a second apart.
    public var wakes: Int
    /// The time of the first of these wakes. If the host found the fault at the end of a `belfry run`, this is the time
    /// of the last wake, as in ``to``.
    public var from: Instant
    /// The time of the last of these wakes.
    public var to: Instant
    /// The deadline that the stage asks for.
    public var next: Instant

    /// Made by ``StageClock``, and by a host at the end of a `belfry run`.
    public init(stage: String, wakes: Int, from: Instant, to: Instant, next: Instant) {
        (self.stage, self.wakes, self.from, self.to, self.next) = (stage, wakes, from, to, next)
    }
}

extension StageFault: CustomStringConvertible {
    public var description: String {
        let times = from == to ? "at \(to.rfc3339)" : "from \(from.rfc3339) to \(to.rfc3339)"
        let count = wakes == 1 ? "" : "\(wakes) times in a row "
        return """
            stage \(stage) was woken \(count)\(times) and asks to be woken again at \(next.rfc3339). Belfry \
            ended the stage, because the stage would be woken without end. Fix the stage: wake(at:) must do everything \
            that is due, and leave a deadline later than `now`, or nil
            """
    }
}
