import Events
import JSON
import PipelineKit
import StageTool

/// Prints what a redrive would do or did, for people or as JSON.
package struct RedriveText {
    let plan: RedrivePlan
    /// What a letter's push shows and plays; see ``RedriveCommands/content(_:)``.
    private let content: (DeadLetter) throws -> String?
    /// The result of sending the letters; nil if `--yes` is missing or no letter can be redriven.
    package var sent: RedriveTotals?

    private static let linesMax = 20
    private static let reasonsMax = 5

    package init(plan: RedrivePlan, content: @escaping (DeadLetter) throws -> String?) {
        (self.plan, self.content) = (plan, content)
    }

    // MARK: For people

    /// Lines to show before anything is sent.
    package func preview() throws -> [String] {
        let selected = plan.selected
        guard !plan.found.letters.isEmpty else { return ["no dead letters: there is nothing to redrive"] }
        let rest = selected.count - Self.linesMax
        return try [headline(selected.count)] + apps + commands(selected) + leftOut
            + (selected.isEmpty ? [] : [""]) + selected.prefix(Self.linesMax).map(line)
            + (rest > 0 ? ["… and \(rest.grouped) more"] : [])
    }

    private func line(_ candidate: RedriveCandidate) throws -> String {
        try candidate.text + (content(candidate.letter).map { "  " + $0.printable } ?? "")
    }

    private func headline(_ count: Int) -> String {
        let more =
            plan.redrivableCount > count ? " (\(plan.redrivableCount.grouped) can be redriven: see --limit)" : ""
        return "\(count.grouped) of \(plan.found.letters.count.of("dead letter")) to redrive\(more)"
    }

    private var apps: [String] {
        plan.apps.map { app in
            let names = [app.container, app.environment, app.topic].filter { !$0.isEmpty }.joined(separator: " ")
            return "  \(names.printable) by \(app.transport.printable): \(app.pushes.of("push")) to "
                + "\(app.devices.count.of("device")) of \(app.users.of(Member.user.description))"
        }
    }

    private func commands(_ selected: [RedriveCandidate]) -> [String] {
        let counts = Dictionary(grouping: selected.filter { !$0.letter.isPush }, by: \.letter.type).mapValues(\.count)
        return counts.sorted { $0.key < $1.key }.map { type, count in
            "  \(count.grouped) × \(type.printable), sent to ingest as a new command"
        }
    }

    private var leftOut: [String] {
        let obsolete = plan.obsolete
        let lines = Obsolescence.allCases.compactMap { why in
            obsolete[why].map { "  \($0.grouped) × \(why.rawValue): \(why.meaning)" }
        }
        let impossible = plan.impossible.prefix(Self.reasonsMax).map {
            "  \($0.count.grouped) × \($0.reason.printable)"
        }
        let rest = plan.impossible.count - Self.reasonsMax
        return (lines.isEmpty ? [] : ["left out as obsolete:"] + lines)
            + (impossible.isEmpty ? [] : ["cannot be redriven:"] + impossible)
            + (rest > 0 ? ["  … and \(rest.of("more reason"))"] : [])
    }

    /// The result, in one or more lines.
    package var verdict: [String] {
        guard let sent else {
            return plan.redrivableCount == 0 ? ["nothing to redrive"] : ["nothing was sent; add --yes to send"]
        }
        let left = plan.redrivableCount - plan.selected.count
        return [
            "\(sent.accepted.of("letter")) redriven, \(sent.refused.grouped) refused"
                + (left > 0 ? "; \(left.grouped) more can be redriven: \(plan.continuation)" : "")
        ]
            + sent.refusals.prefix(Self.linesMax).map { "  \($0.letter): \($0.reason.withoutControls)" }
    }

    // MARK: For programs

    /// Writes an object for each selected letter, with the command that redrives it; then for each letter that cannot
    /// or need not be redriven; then for each refusal with a known reason; then the summary.
    ///
    /// - Parameter command: Returns nil if no command can be made for the letter.
    package func json(_ command: (DeadLetter) throws -> String?, _ write: (String) throws -> Void) throws {
        for candidate in plan.selected {
            try write(candidate.json(type: "redrive", command: try command(candidate.letter)))
        }
        for candidate in plan.found.letters where !candidate.isRedrivable {
            try write(candidate.json(type: "left_out"))
        }
        for refusal in sent?.refusals ?? [] { try write(Self.json(refusal)) }
        try write(summary)
    }

    private static func json(_ refusal: RedriveTotals.Refusal) -> String {
        ByteBuffer.object {
            $0.append("type", "refused")
            $0.append("log", refusal.letter.log)
            $0.append("sequence", refusal.letter.sequence)
            $0.append("reason", refusal.reason)
        }.text
    }

    private var summary: String {
        ByteBuffer.object {
            $0.append("type", "summary")
            $0.append("letters", plan.found.letters.count)
            $0.append("redrivable", plan.redrivableCount)
            $0.append("selected", plan.selected.count)
            $0.append("limit", plan.limit)
            $0.append("sent", sent?.accepted ?? 0)
            $0.append("refused", sent?.refused ?? 0)
            if plan.found.isCut { $0.append("more", true) }
            $0.append("apps", plan.apps) { $0.append(raw: Self.json($1)) }
            let obsolete = plan.obsolete.sorted { $0.key.rawValue < $1.key.rawValue }
            $0.append(
                "obsolete",
                raw: "{" + obsolete.map { "\"\($0.key.rawValue)\":\($0.value)" }.joined(separator: ",") + "}")
            $0.append("impossible", plan.impossible.reduce(0) { $0 + $1.count })
        }.text
    }

    private static func json(_ app: RedrivePlan.App) -> String {
        ByteBuffer.object {
            $0.append("container", app.container)
            $0.append("environment", app.environment)
            if !app.topic.isEmpty { $0.append("topic", app.topic) }
            $0.append("transport", app.transport)
            $0.append("pushes", app.pushes)
            $0.append("devices", app.devices.count)
            $0.append("users", app.users)
        }.text
    }
}
