import Time

/// A stage that hands pushes to transports.
public protocol TransportingStage: StageCore {
    /// Takes a transport's answer to a push handed out with ``Outbox/deliver(_:)``.
    ///
    /// An answer is an input: events and wakes may come between a push and its answer, and answers come in any order. The
    /// stage's log is the record of the answers. What the stage says of an answer must therefore show the answer to
    /// ``answer(recordedIn:)``, in the order in which the answers came.
    mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox)

    /// The first event with a push that was handed out and still waits for its first answer. Nil if no push waits.
    var firstOut: UInt64? { get }

    /// Hands out again, in their order, the pushes that were handed out and are not answered. Called when the stage goes
    /// on after a restart.
    func handOutAgain(at now: Instant, into out: inout Outbox)

    /// The transports that the stage's deliveries name; the host opens them.
    static func transports(of settings: Settings) -> [TransportBinding]

    /// The transport's answer that one of the stage's own events records; nil where the event records none.
    ///
    /// A host that feeds the stage its past gives it the answers that it had then.
    static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer?
}

extension TransportingStage {
    public mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {}
    public var firstOut: UInt64? { nil }
    public func handOutAgain(at now: Instant, into out: inout Outbox) {}
    public static func transports(of settings: Settings) -> [TransportBinding] { [] }
    public static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer? { nil }
}
