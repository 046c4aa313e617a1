/// A fact for the operator, found by a stage (``InspectableStage/findings(of:)``) or by a check of `belfry doctor`.
public struct StageFinding: Sendable, Hashable {
    /// How much a finding matters. `belfry doctor` exits with status 1 if there is a warning or an error.
    public enum Severity: String, Sendable, CaseIterable {
        case ok, note, warning, error
    }

    /// How much the fact matters.
    public let severity: Severity
    /// A word for programs, such as `app.stopped`, that does not change between versions.
    public let code: String
    /// The fact, in one line.
    public let text: String
    /// More lines, for people.
    public let lines: [String]
    /// What to do; nil if nothing needs to be done.
    public let fix: String?
    /// More members, for programs.
    public let details: [Explanation.Detail]

    /// A stage calls this in its `findings`.
    public init(
        _ severity: Severity, _ code: String, _ text: String, lines: [String] = [], fix: String? = nil,
        _ details: [Explanation.Detail] = []
    ) {
        (self.severity, self.code, self.text) = (severity, code, text)
        (self.lines, self.fix, self.details) = (lines, fix, details)
    }
}
