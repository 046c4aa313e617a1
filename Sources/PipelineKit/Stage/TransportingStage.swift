import Time

/// A stage that hands out pushes to transports.
public protocol TransportingStage: StageCore {
    /// Handles a transport's answer to a push that was handed out with ``Outbox/deliver(_:)``.
    ///
    /// Events and wakes may come between a push and its answer, and answers come in any order. The stage's log must
    /// record the answers in the order in which they came: ``answer(recordedIn:)`` reads them back.
    mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox)

    /// The first upstream event with a push that was handed out and has no answer yet. Retries do not count: their
    /// pushes have an answer. Nil if each push has its first answer.
    var firstUnanswered: UInt64? { get }

    /// Hands out the unanswered pushes again, in order, after a restart.
    func handOutAgain(at now: Instant, into out: inout Outbox)

    /// The transports in the stage's settings. The host opens them.
    static func transports(of settings: Settings) -> [TransportBinding]

    /// The transport's answer that one of the stage's own events records; nil for any other event. A rebuild gives the
    /// stage these answers again.
    static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer?
}

extension TransportingStage {
    public mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {}
    public var firstUnanswered: UInt64? { nil }
    public func handOutAgain(at now: Instant, into out: inout Outbox) {}
    public static func transports(of settings: Settings) -> [TransportBinding] { [] }
    public static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer? { nil }
}
