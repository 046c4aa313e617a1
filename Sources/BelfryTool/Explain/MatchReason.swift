import EventLog
import PipelineKit

/// Why a user's subscriptions watched a change or did not: a fresh match stage is fed what it knew of them, and asked.
struct MatchReason {
    let change: ExplainedChange
    let logs: RecordedLogs
    let finder: any EventFinder
    let user: String
    let subscriptionID: String?

    /// One for each subscription that the user ever had, or for the one asked about; never empty.
    func explanations() throws -> [Explanation] {
        let histories = try SubscriptionHistory.all(
            in: logs.log(of: logs.path[0]), through: .max, user: user, subscriptionID: subscriptionID, finder)
        guard !histories.isEmpty else { return [none] }
        let (told, spent) = try rerun(histories)
        return histories.map { history in
            let id = history.identity
            if let told = told.first(where: { $0.isOf(history) }) { return with(replacements(history), told) }
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
            "match", .subscriptionNone,
            subscriptionID.map { "\(user) never had a subscription \"\($0)\"" } ?? "\(user) never had a subscription")
    }

    /// - Returns: What the stage says, and the change that used up each subscription that fires once.
    private func rerun(
        _ histories: [SubscriptionHistory]
    ) throws -> (told: [Explanation], spent: [SubscriptionHistory.Identity: UInt64]) {
        guard let stage = logs.stage(ofKind: "match"),
            var fresh = try FreshStage.make(stage, try logs.context(of: stage))
        else { return ([], [:]) }
        var spent: [SubscriptionHistory.Identity: UInt64] = [:]
        var told: [Explanation] = []
        for history in histories {
            guard let last = history.last(before: change.sequence), last.isSave else { continue }
            if last.firesOnce, let spender = try spender(history.identity, after: last) {
                spent[history.identity] = spender
            } else {
                try fresh.feed(last.event)
            }
        }
        let subject = ExplainedSubject(user: user, subscriptionID: subscriptionID)
        told = try fresh.explain(change.event, for: subject)
        return (told, spent)
    }

    /// The first recorded match after the save: CloudKit deletes the subscription with it.
    private func spender(_ id: SubscriptionHistory.Identity, after save: SubscriptionHistory.Entry) throws -> UInt64? {
        guard let log = logs.log(ofKind: "match") else { return nil }
        var found: UInt64?
        let first = try LogScan.firstSequence(in: log, notBefore: save.event.now)
        try finder.events(
            in: log, from: first, through: .max, naming: [.userSubscription(user: id.user, id.subscriptionID)]
        ) { event in
            guard event.json["type"]?.equals("match") ?? false, let number = event.json["change"]?.int64,
                let sequence = UInt64(exactly: number)
            else { return true }
            guard sequence < change.sequence else { return false }
            guard sequence > save.event.sequence, event.json["subscriptionID"]?.equals(id.subscriptionID) ?? false,
                event.json["user"]?.equals(id.user) ?? false, event.json["database"]?.equals(id.database) ?? false,
                event.json["container"]?.equals(id.container) ?? false,
                event.json["environment"]?.equals(id.environment) ?? false
            else { return true }
            found = sequence
            return false
        }
        return found
    }
}

extension MatchReason {
    private func explanation(
        _ code: ExplanationCode, _ text: String, _ id: SubscriptionHistory.Identity, _ sequence: UInt64
    ) -> Explanation {
        Explanation(
            "match", code, text,
            [
                .init("subscriptionID", id.subscriptionID), .init("user", id.user), .init("container", id.container),
                .init("environment", id.environment), .init("database", id.database), .init("change", sequence),
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

extension Explanation {
    /// The sequence that the stage was told is the same one's that the history has.
    fileprivate func isOf(_ history: SubscriptionHistory) -> Bool {
        guard let saved = detail("saved").flatMap({ UInt64($0) }) else { return false }
        return history.entries.contains { $0.event.sequence == saved }
    }
}
