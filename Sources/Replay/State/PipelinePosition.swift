import Time

/// A moment of a pipeline's history.
package enum PipelinePosition: Hashable, Sendable {
    /// Just after this event of the source's log, with its immediate effects in every stage.
    case sequence(UInt64)
    /// After the last event that was recorded by this time.
    case time(Instant)
    /// After the last event of the logs.
    case end
}

/// A moment of one stage's history.
enum StageTarget: Hashable {
    /// Just after this event of the log that the stage reads; for the source, of its own log.
    case input(UInt64)
    case time(Instant)
    case end
}
