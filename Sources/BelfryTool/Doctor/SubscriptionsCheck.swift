import BuiltIns
import Match
import PipelineRuntime
import Replay

/// Which saved subscriptions no index can narrow: each is looked at for every change of its record type.
struct SubscriptionsCheck: DoctorCheck {
    static let name = "subscriptions"

    /// So many that are looked at for one change cost it some ten microseconds; from here on it matters.
    static let harmlessMax = 100
    /// Of a predicate's text, for people.
    private static let charactersMax = 200

    func findings(in patient: Patient) throws -> [Finding] {
        guard let place = patient.logPlace, try !LogPlace.logs(in: place).isEmpty else { return [] }
        let recorded = try RecordedPlace(patient.place, logs: patient.logs).recorded
        let state = PipelineState(recorded, MachineFactory(registry: .builtIns)) {
            StandardError.write("snapshot passed over: \($0)")
        }
        return try state.ask(MatchStage.self) { ($0.subscriptionCount, $0.unindexed) }.flatMap { stage, answer in
            Self.findings(stage, count: answer.0, answer.1)
        }
    }

    private static func findings(_ stage: String, count: Int, _ unindexed: [UnindexedSubscription]) -> [Finding] {
        if unindexed.isEmpty {
            return [
                Finding(
                    .ok, "subscription.indexed",
                    "\(stage): \(count.of("subscription")), none without a place in the index",
                    ["stage": .text(stage), "subscriptions": .count(count)])
            ]
        }
        return unindexed.map { finding(stage, $0) }
    }

    static func finding(_ stage: String, _ subscription: UnindexedSubscription) -> Finding {
        Finding(
            subscription.lookedAt > harmlessMax ? .warning : .note, "subscription.unindexed", text(subscription),
            lines: subscription.parts.map { "\(shortened($0.text)): \($0.reason)" }, fix: fix(subscription),
            [
                "stage": .text(stage), "user": .text(subscription.user),
                "subscriptionID": .text(subscription.subscriptionID), "container": .text(subscription.container),
                "environment": .text(subscription.environment), "database": .text(subscription.database),
                "recordType": .text(subscription.recordType), "savedAt": .count(subscription.savedAt),
                "predicate": .text(subscription.predicate), "lookedAt": .count(subscription.lookedAt),
                "parts": .list(
                    subscription.parts.map { .object(["text": .text($0.text), "reason": .text($0.reason)]) }),
            ])
    }

    private static func text(_ subscription: UnindexedSubscription) -> String {
        let (name, others) = ("\"\(subscription.subscriptionID)\" of \(subscription.user)", subscription.lookedAt - 1)
        let who = others > 0 ? "\(name) and \(others.of("other")) are" : "\(name) is"
        return
            "\(who) looked at for every change of \(subscription.recordType) in the \(subscription.database) database, "
            + "\(subscription.container), \(subscription.environment)"
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
