import Events
import StageTool
import Time

/// Sums up an event in a few words for people.
enum TraceSummary {
    static func text(_ event: TraceEvent) -> String {
        let facts = event.facts
        let parts: [String?] =
            switch event.type {
            case EventName.recordSave, EventName.recordDelete: [facts.reason, record(facts), origin(facts)]
            case EventName.match: [userAndSubscription(facts), facts.reason.map { "(\($0))" }]
            case EventName.notMatched: [unmatched(facts)]
            case EventName.notification: [userAndSubscription(facts), severalChanges(facts)]
            case EventName.coalesced: [userAndSubscription(facts), "replaced by \(replacement(facts))"]
            case EventName.push: [userAndSubscription(facts), facts.pushContent]
            case EventName.pushRedrive: [device(facts), facts.redriveOf.map { "of \($0)" }]
            case EventName.outcome, EventName.attempt, EventName.noticeOutcome, EventName.noticeAttempt: outcome(facts)
            case EventName.deviceRetired: outcome(facts)
            case EventName.appStopped:
                [
                    facts.transport, facts.topic?.string, statusAndReason(facts),
                    facts.probeAt.map { "next try at \($0)" },
                ]
            case EventName.appResumed:
                [facts.transport, facts.topic?.string, facts.held.map { "\(Int($0).of("held push")) released" }]
            case EventName.deadLetter: ["by \(facts.stage ?? "?"):", facts.code, facts.path, facts.reason]
            default: [userAndSubscription(facts), facts.device?.string, facts.transport]
            }
        return parts.joined()?.printable ?? ""
    }

    private static func record(_ facts: EventFacts) -> String? {
        [facts.recordType, facts.recordName?.string].joined()
    }

    private static func origin(_ facts: EventFacts) -> String? {
        [facts.originUser?.string, facts.originDevice?.string].joined(by: "/").map { "by \($0)" }
    }

    private static func userAndSubscription(_ facts: EventFacts) -> String? {
        [facts.user?.string, facts.subscriptionID?.string].joined()
    }

    private static func unmatched(_ facts: EventFacts) -> String {
        let range = "\(facts.first ?? 0) to \(facts.last ?? 0)"
        return "\(facts.count ?? 0) of the changes \(range) matched no subscription"
    }

    private static func severalChanges(_ facts: EventFacts) -> String? {
        let causes = facts.causes
        guard causes.count > 1, let first = causes.first, let last = causes.last else { return nil }
        if causes.count > 6 { return "for \(causes.count) changes, \(first) to \(last)" }
        return "for changes \(causes.map(String.init).joined(separator: ", "))"
    }

    private static func replacement(_ facts: EventFacts) -> String {
        "match \(facts.replacedBy ?? 0) (change \(facts.replacedByChange ?? 0))"
    }

    private static func device(_ facts: EventFacts) -> String? {
        [facts.user?.string, facts.device?.string].joined(by: "/")
    }

    private static func statusAndReason(_ facts: EventFacts) -> String? {
        [facts.status.map(String.init), facts.reason].joined().map { $0 + "," }
    }

    private static func outcome(_ facts: EventFacts) -> [String?] {
        let device = device(facts)
        let attempts = facts.attempts.flatMap { $0 > 1 ? "after \($0) attempts" : nil }
        return [
            facts.outcome, device, facts.transport.map { "by \($0)" }, facts.status.map(String.init), facts.reason,
            attempts, facts.until.map { "until \($0)" },
        ]
    }
}

extension Duration {
    /// The time from one event to another, with a sign. A positive time of less than a millisecond is in microseconds,
    /// any other time as in ``text``.
    var sinceText: String {
        if 0 < wholeMicroseconds, wholeMicroseconds < 1_000 { return "+\(wholeMicroseconds) µs" }
        // The clocks of two machines may differ, so an effect can have the earlier time.
        return self < .zero ? "-\((.zero - self).text)" : "+\(text)"
    }
}
