import Time

/// A stage asks to be woken again and again to no end: a host that obeyed would do nothing else for ever.
///
/// Counted by the stage's own time, so that a replay finds the same. The host ends with it, and says it.
public struct StageFault: Error, Hashable, Sendable {
    /// So many wakes in a row are a fault, within a second of the stage's time and without an event or an answer between
    /// them, where each of them says nothing, or leaves the deadline where it was.
    public static let wakesMax = 100_000

    /// The stage's name in the pipeline file, or its kind.
    public var stage: String
    /// How many such wakes there were in a row.
    public var wakes: Int
    /// The time of the first of those wakes.
    public var from: Instant
    /// The time of the last of those wakes.
    public var to: Instant
    /// The deadline that the stage asks for now.
    public var next: Instant

    /// Made by ``StageClock``.
    public init(stage: String, wakes: Int, from: Instant, to: Instant, next: Instant) {
        (self.stage, self.wakes, self.from, self.to, self.next) = (stage, wakes, from, to, next)
    }
}

extension StageFault: CustomStringConvertible {
    public var description: String {
        let times = from == to ? "at \(to.rfc3339)" : "from \(from.rfc3339) to \(to.rfc3339)"
        let count = wakes == 1 ? "" : "\(wakes) times in a row "
        return """
            stage \(stage) was woken \(count)\(times) and asks for the deadline \(next.rfc3339) again. It was ended, since \
            that would not stop by itself. Mend the stage: wake(at:) must deal with all that is due, and leave a deadline \
            later than `now`, or nil
            """
    }
}
