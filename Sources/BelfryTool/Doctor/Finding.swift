/// One thing that a check found.
struct Finding: Hashable, Sendable {
    /// Errors and warnings make the doctor exit with 1.
    enum Severity: String, Sendable, CaseIterable {
        case ok, note, warning, error

        var matters: Bool { self == .warning || self == .error }
    }

    let severity: Severity
    /// Stable: what it is about, and what of that.
    let code: String
    /// In one line.
    let text: String
    /// More lines, for people.
    let lines: [String]
    /// What to do.
    let fix: String?
    /// More members, for programs.
    let details: [ReportValue.Member]

    init(
        _ severity: Severity, _ code: String, _ text: String, lines: [String] = [], fix: String? = nil,
        _ details: KeyValuePairs<String, ReportValue> = [:]
    ) {
        self.init(
            severity, code, text, lines: lines, fix: fix,
            details.map { ReportValue.Member(key: $0.key, value: $0.value) })
    }

    init(
        _ severity: Severity, _ code: String, _ text: String, lines: [String] = [], fix: String? = nil,
        _ details: [ReportValue.Member]
    ) {
        (self.severity, self.code, self.text, self.lines, self.fix) = (severity, code, text, lines, fix)
        self.details = details
    }

    /// One JSON object.
    ///
    /// - Parameter check: The check's name.
    func json(_ check: String) -> String {
        let members = [
            ("check", check), ("severity", severity.rawValue), ("code", code), ("text", text), ("fix", fix ?? ""),
        ].filter { !$1.isEmpty }.map { ReportValue.Member(key: $0, value: .text($1)) }
        return ReportValue.object(members + details).json
    }
}
