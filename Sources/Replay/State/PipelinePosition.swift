import Time

/// A moment of a pipeline's history.
package enum PipelinePosition: Hashable, Sendable {
    /// Just after an event of the source's log has passed through every stage that it reaches at once.
    case sequence(UInt64)
    /// What had been recorded by then.
    case time(Instant)
    /// All that the logs hold.
    case end
}

/// How far a stage's machine is to be brought.
enum StageTarget: Hashable {
    /// Just after this event of its input.
    case input(UInt64)
    case time(Instant)
    case end
}
