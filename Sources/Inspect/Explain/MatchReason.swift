import Events
import JSON
import PipelineKit

/// Explains why a user's subscriptions watched a change or did not.
///
/// A fresh match stage is fed the subscriptions as they were at the time of the change.
struct MatchReason {
    let change: ExplainedChange
    let logs: RecordedLogs
    let finder: any EventFinder
    let user: ExactText
    let subscriptionID: ExactText?
    /// Whether the log lacks its first changes. They may have saved subscriptions.
    let isTrimmed: Bool

    /// One explanation for each subscription that the user ever had, or only for `subscriptionID`. Never empty.
    func explanations() throws -> [Explanation] {
        let histories = try SubscriptionHistory.all(
            in: logs.log(of: logs.stages[0]), through: .max, user: user, subscriptionID: subscriptionID, finder)
        guard !histories.isEmpty else { return [noSubscription] }
        let (explained, uses, obstacle) = try rerun(histories)
        return histories.map { history in
            let id = history.identity
            for sequence in history.entries.map(\.event.sequence) {
                guard var own = explained[sequence] else { continue }
                own.parts = replacements(history, through: sequence) + own.parts
                return own
            }
            let name = "\"\(id.subscriptionID)\" of \(id.user)"
            if let use = uses[id] {
                return explanation(.firesOnceSpent, "\(name) fires once, and change \(use) had used it up", id, use)
            }
            guard let last = history.last(before: change.sequence) else { return savedLater(name, history) }
            if last.isSave { return unchecked(name, id, last.event.sequence, obstacle) }
            return explanation(
                .subscriptionDeleted, "\(name) had been deleted at change \(last.event.sequence)", id,
                last.event.sequence)
        }
    }

    private var noSubscription: Explanation {
        let what = subscriptionID.map { "a subscription \"\($0)\"" } ?? "a subscription"
        let text =
            isTrimmed
            ? "\(user) saved \(what) before the first change in the log, or never" : "\(user) never had \(what)"
        return Explanation(.matches, .subscriptionNone, text)
    }

    /// Feeds the subscriptions to a fresh match stage, and asks it to explain the change.
    ///
    /// - Returns: `explained` has the stage's explanations by the sequences of the subscriptions' saves. `uses` has the
    ///   changes that used up fires-once subscriptions. `obstacle` says why no subscription was checked.
    private func rerun(
        _ histories: [SubscriptionHistory]
    ) throws -> (
        explained: [UInt64: Explanation], uses: [SubscriptionHistory.Identity: UInt64], obstacle: Explanation?
    ) {
        guard let stage = logs.stage(writing: .matches),
            var fresh = try FreshStage.make(stage, try logs.context(of: stage))
        else {
            return ([:], [:], Explanation(.matches, .outcomePending, "the pipeline has no built-in match stage"))
        }
        let crashes = try DeadLetterReasons.crashes(of: stage, logs)
        let processed = histories.map { $0.without(crashes) }
        let uses = try FiresOnceUses(of: processed, before: change.sequence).find(in: logs, finder)
        for history in processed where uses[history.identity] == nil {
            // All events, not only the last save: match may refuse that save and keep the version before it.
            for entry in history.entries where entry.event.sequence < change.sequence { try fresh.feed(entry.event) }
        }
        let subject = ExplainedSubject(user: user.string, subscriptionID: subscriptionID?.string)
        let explanations = try fresh.explain(change.event, for: subject)
        let explained = explanations.compactMap { explanation in
            explanation.detail("saved").flatMap { UInt64($0) }.map { ($0, explanation) }
        }
        return (
            Dictionary(explained) { first, _ in first }, uses, explanations.first { $0.code == .changeRefused }
        )
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
        guard let first = history.entries.first(where: \.isSave)?.event.sequence else {
            let text = isTrimmed ? "was saved before the first change in the log, or never" : "was never saved"
            return explanation(.subscriptionNone, "\(name) \(text)", history.identity, change.sequence)
        }
        let limit = isTrimmed ? ", unless it was saved before the first change in the log" : ""
        return explanation(
            .subscriptionSavedLater, "\(name) was first saved at change \(first)\(limit)", history.identity, first)
    }

    /// - Parameter obstacle: Why match checked no subscription at all. Nil if match checked the other subscriptions.
    private func unchecked(
        _ name: String, _ id: SubscriptionHistory.Identity, _ saved: UInt64, _ obstacle: Explanation?
    ) -> Explanation {
        explanation(
            obstacle?.code ?? .changeRefused,
            obstacle.map { "\(name) was not checked: \($0.text)" }
                ?? "match could not use the save of \(name) at change \(saved)", id, saved)
    }

    /// - Parameter saved: The sequence of the save that made the version used here.
    private func replacements(_ history: SubscriptionHistory, through saved: UInt64) -> [Explanation] {
        let saves = history.saves(through: saved)
        guard saves.count > 1, let first = saves.first else { return [] }
        return [
            explanation(
                .subscriptionReplaced,
                "it was first saved at change \(first.event.sequence); the version used here was saved at change "
                    + "\(saved)", history.identity, saved)
        ]
    }
}
