import JSON
import Time

/// A stage that shows its state, and says what it would make of an event.
public protocol InspectableStage: StageCore {
    /// The name of the state in `belfry state`, such as `subscriptions`. A stage without a state to show returns nil.
    static var stateName: String? { get }

    /// Writes the state for people and programs: one JSON object a line, in an order that depends on nothing else.
    func writeState(into lines: inout ByteBuffer)

    /// The names of what else of the state can be shown on its own.
    static var otherStateNames: [String] { get }

    /// Writes what ``otherStateNames`` names, in the same form.
    func writeState(_ name: String, into lines: inout ByteBuffer)

    /// The name of the check in `belfry doctor` that looks at the stage's state, such as `apps`. A stage without a check
    /// returns nil.
    static var checkName: String? { get }

    /// Says what an operator should know about the state, the most important first. Changes nothing.
    ///
    /// - Parameter name: The stage's name in the pipeline file.
    func findings(of name: String) -> [StageFinding]

    /// Says what the stage, as it stands, would make of an event for a subject, and why. Changes nothing.
    ///
    /// - Parameter now: The event's recorded time.
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
