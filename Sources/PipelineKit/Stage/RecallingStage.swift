import Time

/// A source that keeps a part of its events in memory.
public protocol RecallingStage: StageCore {
    /// Restores the memory of one event of the stage's own log, when the stage starts again. Only a source is called: every
    /// other stage is rebuilt by feeding it its input again.
    mutating func recall(_ event: borrowing InputEvent, at now: Instant)
}

extension RecallingStage {
    public mutating func recall(_ event: borrowing InputEvent, at now: Instant) {}
}
