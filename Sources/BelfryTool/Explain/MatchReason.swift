import EventLog
import JSON
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
            let spender = try Spender(history.identity, after: last, before: change.sequence).find(in: logs, finder)
            if let spender {
                spent[history.identity] = spender
            } else {
                try fresh.feed(last.event)
            }
        }
        let subject = ExplainedSubject(user: user, subscriptionID: subscriptionID)
        told = try fresh.explain(change.event, for: subject)
        return (told, spent)
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

/// The change that used up a subscription that fires once: the first recorded match after it was saved.
struct Spender {
    private let id: SubscriptionHistory.Identity
    private let save: SubscriptionHistory.Entry
    private let change: UInt64

    init(_ id: SubscriptionHistory.Identity, after save: SubscriptionHistory.Entry, before change: UInt64) {
        self.id = id
        self.save = save
        self.change = change
    }

    /// Nil where it does not fire once, or has not fired.
    func find(in logs: RecordedLogs, _ finder: any EventFinder) throws -> UInt64? {
        guard save.firesOnce, let log = logs.log(ofKind: "match") else { return nil }
        var found: UInt64?
        let first = try LogScan.firstSequence(in: log, notBefore: save.event.now)
        let names = [EventName.userSubscription(user: id.user, id.subscriptionID)]
        try finder.events(in: log, from: first, through: .max, naming: names) { event in
            guard let sequence = event.json["change"]?.sequenceNumber else { return true }
            guard sequence < change else { return false }
            guard sequence > save.event.sequence, event.json["type"]?.equals("match") ?? false, isOf(event.json) else {
                return true
            }
            found = sequence
            return false
        }
        return found
    }

    private func isOf(_ match: JSONValue) -> Bool {
        SubscriptionHistory.Identity(match) == id
    }
}
