import Time

/// A source that keeps something of the events that it took in.
public protocol RecallingStage: StageCore {
    /// Takes back one event of the stage's own log when it starts again. Only sources are called: every other stage is
    /// rebuilt by feeding it its input again.
    mutating func recall(_ event: borrowing InputEvent, at now: Instant)
}

extension RecallingStage {
    public mutating func recall(_ event: borrowing InputEvent, at now: Instant) {}
}
