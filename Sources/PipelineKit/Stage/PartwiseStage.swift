import Time

/// A stage that writes its outputs for one event in several parts.
public protocol PartwiseStage: StageCore {
    /// Whether there are more outputs for the event or wake that the stage was given last.
    ///
    /// A stage with very many outputs for one event stops when ``Outbox/isFull`` is true, and is called again with
    /// ``proceed(at:into:)``. So one event needs memory for one part only, and the first outputs are on their way
    /// before the last outputs are written.
    var isUnfinished: Bool { get }

    /// Writes the next part, with at least one output. Called until ``isUnfinished`` is false; meanwhile the stage gets
    /// no event, wake or answer. The outputs must not depend on where a part ends.
    ///
    /// - Parameter now: The time at which the stage got the event or the wake.
    mutating func proceed(at now: Instant, into out: inout Outbox)
}

extension PartwiseStage {
    public var isUnfinished: Bool { false }
    public mutating func proceed(at now: Instant, into out: inout Outbox) {}
}
