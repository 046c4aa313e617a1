import BuiltIns
import Events
import Inspect
import Match
import PipelineRuntime
import Replay
import Synchronization

/// Which saved subscriptions no index can narrow, so that each is looked at for every change of its record type, and
/// which can never match; those that are alike in one finding.
struct SubscriptionsCheck: DoctorCheck {
    static let name = "subscriptions"

    /// So many that are looked at for one change cost it some ten microseconds; from here on it matters.
    static let harmlessMax = 100
    /// Of a predicate's text.
    private static let charactersMax = 200
    /// Of a group's subscriptions, for people.
    private static let namedMax = 3
    /// Of a predicate's parts.
    private static let partsMax = 20
    /// Groups of one stage.
    private static let findingsMax = 200

    func findings(in patient: Patient) throws -> [Finding] {
        guard let place = patient.logPlace, try !LogPlace.logs(in: place).isEmpty else { return [] }
        let recorded = try RecordedPlace(patient.place, logs: patient.logs).recorded
        let passedOver = Mutex<[String]>([])
        let state = PipelineState(recorded, MachineFactory(registry: .builtIns)) { problem in
            passedOver.withLock { $0.append(problem) }
        }
        let found = try state.ask(MatchStage.self, Self.findings).flatMap { stage, findings in findings(stage) }
        return passedOver.withLock { $0 }.map(Self.passedOver) + found
    }

    private static func passedOver(_ problem: String) -> Finding {
        Finding(.note, "snapshot.passed_over", "snapshot passed over, which costs time and no event: \(problem)")
    }

    private static func findings(_ match: MatchStage) -> (_ stage: String) -> [Finding] {
        let (unindexed, never, count) = (match.unindexed, match.neverTrue, match.subscriptionCount)
        return { stage in
            let found = unindexed.map { finding(stage, $0) } + never.map { finding(stage, $0.group, $0.reason) }
            guard found.count > findingsMax else { return found.isEmpty ? [wellness(stage, count)] : found }
            return found.prefix(findingsMax) + [rest(stage, found.count - findingsMax)]
        }
    }

    private static func wellness(_ stage: String, _ count: Int) -> Finding {
        Finding(
            .ok, "subscription.indexed", "\(stage): \(count.of("subscription")), none without a place in the index",
            ["stage": .text(stage), "subscriptions": .count(count)])
    }

    private static func rest(_ stage: String, _ count: Int) -> Finding {
        Finding(
            .note, "subscription.more", "\(stage): \(count.of("group")) of such subscriptions more",
            fix: "mend those above first", ["stage": .text(stage), "groups": .count(count)])
    }

    static func finding(_ stage: String, _ subscriptions: UnindexedSubscriptions) -> Finding {
        let parts = subscriptions.parts.map { part in
            ReportValue.object(["text": .text(shortened(part.text)), "reason": .text(part.reason)])
        }
        return Finding(
            subscriptions.lookedAt > harmlessMax ? .warning : .note, "subscription.unindexed", text(subscriptions),
            lines: subscriptions.parts.prefix(partsMax).map { "\(shortened($0.text)): \($0.reason)" },
            fix: fix(subscriptions),
            details(
                stage, subscriptions.group,
                ["lookedAt": .count(subscriptions.lookedAt), "parts": .list(Array(parts.prefix(partsMax)))]))
    }

    private static func finding(_ stage: String, _ group: QueryGroup, _ reason: String) -> Finding {
        Finding(
            .note, "subscription.never", "\(names(group)) never match\(group.count == 1 ? "es" : ""): \(reason)",
            lines: [shortened(group.first.predicate)], fix: "delete it, or save it with what was meant",
            details(stage, group, ["reason": .text(reason)]))
    }

    private static func details(
        _ stage: String, _ group: QueryGroup, _ more: KeyValuePairs<String, ReportValue>
    ) -> [ReportValue.Member] {
        let query = group.first
        let named: [(String, ReportValue)] = [
            ("stage", .text(stage)), ("container", .text(query.container)), ("environment", .text(query.environment)),
            ("database", .text(query.database)), ("recordType", .text(query.recordType)),
            ("count", .count(group.count)),
        ]
        let all = named + more.map { ($0.key, $0.value) } + [("subscriptions", .list(group.named.map(details)))]
        return all.map { ReportValue.Member(key: $0, value: $1) }
    }

    private static func details(_ query: SavedQuery) -> ReportValue {
        .object([
            Member.user.description: .text(query.user), Member.subscriptionID.description: .text(query.subscriptionID),
            "savedAt": .count(query.savedAt),
            "predicate": .text(shortened(query.predicate)),
        ])
    }

    /// The first few.
    private static func names(_ group: QueryGroup) -> String {
        let named = group.named.prefix(namedMax).map { "\"\($0.subscriptionID)\" of \($0.user)" }
        let others = group.count - named.count
        if others > 0 { return named.joined(separator: ", ") + " and \(others.of("other"))" }
        return named.count == 1 ? named[0] : named.dropLast().joined(separator: ", ") + " and " + named[named.count - 1]
    }

    private static func text(_ subscriptions: UnindexedSubscriptions) -> String {
        let (group, query) = (subscriptions.group, subscriptions.group.first)
        return
            "\(names(group)) \(group.count == 1 ? "is" : "are") looked at for every change of \(query.recordType) in the "
            + "\(query.database) database, \(query.container), \(query.environment)"
    }

    private static func fix(_ subscriptions: UnindexedSubscriptions) -> String {
        var ways = ["add a clause that asks for a value, as in owner == '…' or thread IN {…}"]
        for instead in subscriptions.parts.compactMap(\.instead) where !ways.contains(instead) { ways.append(instead) }
        return ways.prefix(4).joined(separator: "; or ")
    }

    private static func shortened(_ text: String) -> String {
        text.count > charactersMax ? text.prefix(charactersMax - 1) + "…" : text
    }
}
