import Time

/// A stage that says what it has to say of one event in several parts.
public protocol PartwiseStage: StageCore {
    /// Whether there is more to be said of the event, or of the wake, that the stage was given last.
    ///
    /// A stage that may have very much to say of one stops where ``Outbox/isFull`` is true, and is asked to go on. So the
    /// outputs of one event need no more memory than one part of them, and the first are on their way before the last
    /// are written.
    var isUnfinished: Bool { get }

    /// Says more of what the stage was given last, and something each time. Called until ``isUnfinished`` is false;
    /// nothing else is asked of the stage before. Where one part ends and the next begins must not show in what is said.
    ///
    /// - Parameter now: The same as when the event or the wake came.
    mutating func proceed(at now: Instant, into out: inout Outbox)
}

extension PartwiseStage {
    public var isUnfinished: Bool { false }
    public mutating func proceed(at now: Instant, into out: inout Outbox) {}
}
