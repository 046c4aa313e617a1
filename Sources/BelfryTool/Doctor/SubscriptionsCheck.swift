import BuiltIns
import Match
import PipelineRuntime
import Replay
import Synchronization

/// Which saved subscriptions no index can narrow, so that each is looked at for every change of its record type, and
/// which can never match.
struct SubscriptionsCheck: DoctorCheck {
    static let name = "subscriptions"

    /// So many that are looked at for one change cost it some ten microseconds; from here on it matters.
    static let harmlessMax = 100
    /// Of a predicate's text, for people.
    private static let charactersMax = 200

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
            let found = unindexed.map { finding(stage, $0) } + never.map { finding(stage, $0.query, $0.reason) }
            return found.isEmpty ? [wellness(stage, count)] : found
        }
    }

    private static func wellness(_ stage: String, _ count: Int) -> Finding {
        Finding(
            .ok, "subscription.indexed", "\(stage): \(count.of("subscription")), none without a place in the index",
            ["stage": .text(stage), "subscriptions": .count(count)])
    }

    static func finding(_ stage: String, _ subscription: UnindexedSubscription) -> Finding {
        let parts = subscription.parts.map { part in
            ReportValue.object(["text": .text(part.text), "reason": .text(part.reason)])
        }
        return Finding(
            subscription.lookedAt > harmlessMax ? .warning : .note, "subscription.unindexed", text(subscription),
            lines: subscription.parts.map { "\(shortened($0.text)): \($0.reason)" }, fix: fix(subscription),
            details(stage, subscription.query, ["lookedAt": .count(subscription.lookedAt), "parts": .list(parts)]))
    }

    private static func finding(_ stage: String, _ query: SavedQuery, _ reason: String) -> Finding {
        Finding(
            .note, "subscription.never", "\"\(query.subscriptionID)\" of \(query.user) never matches: \(reason)",
            lines: [shortened(query.predicate)], fix: "delete it, or save it with what was meant",
            details(stage, query, ["reason": .text(reason)]))
    }

    private static func details(
        _ stage: String, _ query: SavedQuery, _ more: KeyValuePairs<String, ReportValue>
    ) -> [ReportValue.Member] {
        let named: [(String, ReportValue)] = [
            ("stage", .text(stage)), ("user", .text(query.user)), ("subscriptionID", .text(query.subscriptionID)),
            ("container", .text(query.container)), ("environment", .text(query.environment)),
            ("database", .text(query.database)), ("recordType", .text(query.recordType)),
            ("savedAt", .count(query.savedAt)), ("predicate", .text(query.predicate)),
        ]
        return (named + more.map { ($0.key, $0.value) }).map { ReportValue.Member(key: $0, value: $1) }
    }

    private static func text(_ subscription: UnindexedSubscription) -> String {
        let (query, others) = (subscription.query, subscription.lookedAt - 1)
        let name = "\"\(query.subscriptionID)\" of \(query.user)"
        return "\(others > 0 ? "\(name) and \(others.of("other")) are" : "\(name) is") looked at for every change of "
            + "\(query.recordType) in the \(query.database) database, \(query.container), \(query.environment)"
    }

    private static func fix(_ subscription: UnindexedSubscription) -> String {
        var ways = ["add a clause that asks for a value, as in owner == '…' or thread IN {…}"]
        for instead in subscription.parts.compactMap(\.instead) where !ways.contains(instead) { ways.append(instead) }
        return ways.prefix(4).joined(separator: "; or ")
    }

    private static func shortened(_ text: String) -> String {
        text.count > charactersMax ? text.prefix(charactersMax - 1) + "…" : text
    }
}
