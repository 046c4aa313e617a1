import Time

/// A source that keeps a part of its events in memory.
public protocol RecallingStage: StageCore {
    /// Takes an event of the stage's own log back into memory, when the stage starts again. The host calls this only
    /// for a source; it rebuilds any other stage from its input.
    mutating func recall(_ event: borrowing InputEvent, at now: Instant)
}

extension RecallingStage {
    public mutating func recall(_ event: borrowing InputEvent, at now: Instant) {}
}
