import Events
import JSON
import PipelineKit

/// Why a user's subscriptions watched a change or did not: a fresh match stage is fed what it knew of them, and asked.
struct MatchReason {
    let change: ExplainedChange
    let logs: RecordedLogs
    let finder: any EventFinder
    let user: ExactText
    let subscriptionID: ExactText?

    /// One for each subscription that the user ever had, or for the one asked about; never empty.
    func explanations() throws -> [Explanation] {
        let histories = try SubscriptionHistory.all(
            in: logs.log(of: logs.path[0]), through: .max, user: user, subscriptionID: subscriptionID, finder)
        guard !histories.isEmpty else { return [none] }
        let (told, spent) = try rerun(histories)
        return histories.map { history in
            let id = history.identity
            if let told = history.entries.lazy.compactMap({ told[$0.event.sequence] }).first {
                return with(replacements(history), told)
            }
            let code = history.last(before: change.sequence)
            let name = "\"\(id.subscriptionID)\" of \(id.user)"
            if let spender = spent[id] { return onceSpent(name, id, spender) }
            guard let last = code else { return savedLater(name, history) }
            return explanation(
                .subscriptionDeleted, "\(name) had been deleted at change \(last.event.sequence)", id,
                last.event.sequence)
        }
    }

    private var none: Explanation {
        Explanation(
            .matches, .subscriptionNone,
            subscriptionID.map { "\(user) never had a subscription \"\($0)\"" } ?? "\(user) never had a subscription")
    }

    /// - Returns: What the stage says, by the sequence at which the subscription was saved, and the change that used up
    ///   each subscription that fires once.
    private func rerun(
        _ histories: [SubscriptionHistory]
    ) throws -> (told: [UInt64: Explanation], spent: [SubscriptionHistory.Identity: UInt64]) {
        guard let stage = logs.stage(writing: .matches),
            var fresh = try FreshStage.make(stage, try logs.context(of: stage))
        else { return ([:], [:]) }
        let spent = try FiresOnceUses(of: histories, before: change.sequence).find(in: logs, finder)
        let crashes = try DeadLetter.crashes(of: stage, logs)
        for history in histories where spent[history.identity] == nil {
            guard let last = history.last(before: change.sequence), last.isSave,
                !crashes.contains(last.event.sequence)
            else { continue }
            try fresh.feed(last.event)
        }
        let subject = ExplainedSubject(user: user.string, subscriptionID: subscriptionID?.string)
        let told = try fresh.explain(change.event, for: subject).compactMap { told in
            told.detail("saved").flatMap { UInt64($0) }.map { ($0, told) }
        }
        return (Dictionary(told) { first, _ in first }, spent)
    }
}

extension MatchReason {
    private func explanation(
        _ code: ExplanationCode, _ text: String, _ id: SubscriptionHistory.Identity, _ sequence: UInt64
    ) -> Explanation {
        Explanation(
            .matches, code, text,
            [
                .init(Member.subscriptionID.description, id.subscriptionID.string),
                .init(Member.user.description, id.user.string),
                .init("container", id.container.string), .init("environment", id.environment.string),
                .init("database", id.database.string), .init("change", sequence),
            ])
    }

    private func savedLater(_ name: String, _ history: SubscriptionHistory) -> Explanation {
        let first = history.entries.first { $0.isSave }?.event.sequence ?? 0
        return first == 0
            ? explanation(.subscriptionNone, "\(name) was never saved", history.identity, change.sequence)
            : explanation(
                .subscriptionSavedLater, "\(name) was first saved at change \(first)", history.identity, first)
    }

    private func onceSpent(_ name: String, _ id: SubscriptionHistory.Identity, _ spender: UInt64) -> Explanation {
        explanation(.firesOnceSpent, "\(name) fires once, and change \(spender) had used it up", id, spender)
    }

    private func replacements(_ history: SubscriptionHistory) -> [Explanation] {
        let saves = history.saves(before: change.sequence)
        guard saves.count > 1, let first = saves.first, let last = saves.last else { return [] }
        return [
            explanation(
                .subscriptionReplaced,
                "it was first saved at change \(first.event.sequence) and, in the form that counted, at change "
                    + "\(last.event.sequence)", history.identity, last.event.sequence)
        ]
    }

    private func with(_ parts: [Explanation], _ told: Explanation) -> Explanation {
        var told = told
        told.parts = parts + told.parts
        return told
    }
}
