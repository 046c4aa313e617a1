import JSON
import Time

/// A stage that shows its state and explains what it would do with an event.
public protocol InspectableStage: StageCore {
    /// The name, in `belfry state`, of what ``writeState(into:)`` writes, such as `subscriptions`. Nil if it writes
    /// nothing.
    static var stateName: String? { get }

    /// Writes the most important part of the state, one JSON object a line, always in the same order.
    func writeState(into lines: inout ByteBuffer)

    /// The names of further parts of the state in `belfry state`. Each is shown on its own.
    static var otherStateNames: [String] { get }

    /// Writes a part that ``otherStateNames`` lists, in the form of ``writeState(into:)``.
    func writeState(_ name: String, into lines: inout ByteBuffer)

    /// The name of the stage's check in `belfry doctor`, such as `apps`; nil if the stage has no check.
    static var checkName: String? { get }

    /// The facts about the state that an operator should know, most important first.
    ///
    /// - Parameter name: The stage's name in the pipeline file.
    func findings(of name: String) -> [StageFinding]

    /// What the stage in its current state would do with an event, and why. Changes nothing.
    ///
    /// - Parameter now: The recorded time of the event.
    func explain(_ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject) -> [Explanation]
}

extension InspectableStage {
    public static var stateName: String? { nil }
    public func writeState(into lines: inout ByteBuffer) {}
    public static var otherStateNames: [String] { [] }
    public func writeState(_ name: String, into lines: inout ByteBuffer) {}
    public static var checkName: String? { nil }
    public func findings(of name: String) -> [StageFinding] { [] }
    public func explain(
        _ event: borrowing InputEvent, at now: Instant, for subject: ExplainedSubject
    ) -> [Explanation] { [] }
}
