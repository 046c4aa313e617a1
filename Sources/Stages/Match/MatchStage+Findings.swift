import Events
import JSON
import PipelineKit

/// Which saved subscriptions no index can narrow, so that each is looked at for every change of its record type, and
/// which can never match; those that are alike in one finding.
extension MatchStage {
    package static let checkName: String? = "subscriptions"

    package func findings(of name: String) -> [StageFinding] {
        let found = unindexed.map { $0.finding(name) } + neverTrue.map { $0.group.finding(name, neverFor: $0.reason) }
        guard found.count > SubscriptionFindings.most else { return found.isEmpty ? [wellness(name)] : found }
        return found.prefix(SubscriptionFindings.most) + [rest(name, found.count - SubscriptionFindings.most)]
    }

    private func wellness(_ name: String) -> StageFinding {
        StageFinding(
            .ok, "subscription.indexed",
            "\(name): \(subscriptionCount.of("subscription")), none without a place in the index",
            [.init("stage", name), .init("subscriptions", UInt64(subscriptionCount))])
    }

    private func rest(_ name: String, _ count: Int) -> StageFinding {
        StageFinding(
            .note, "subscription.more", "\(name): \(count.of("group")) of such subscriptions more",
            fix: "mend those above first", [.init("stage", name), .init("groups", UInt64(count))])
    }
}

/// How much is told of subscriptions.
private enum SubscriptionFindings {
    /// So many that are looked at for one change cost it some ten microseconds; from here on it matters.
    static let harmlessMax = 100
    /// Groups of one stage.
    static let most = 200
    /// Of a predicate's text.
    static let charactersMax = 200
    /// Of a group's subscriptions, for people.
    static let namedMax = 3
    /// Of a predicate's parts.
    static let partsMax = 20

    static func shortened(_ text: String) -> String {
        text.count > charactersMax ? text.prefix(charactersMax - 1) + "…" : text
    }
}

extension UnindexedSubscriptions {
    fileprivate func finding(_ name: String) -> StageFinding {
        let (query, told) = (group.first, parts.prefix(SubscriptionFindings.partsMax))
        let text =
            "\(group.names) \(group.count == 1 ? "is" : "are") looked at for every change of \(query.recordType) in the "
            + "\(query.database) database, \(query.container), \(query.environment)"
        var list = ByteBuffer()
        list.list(told) { buffer, part in
            buffer.object {
                $0.append("text", SubscriptionFindings.shortened(part.text))
                $0.append(.reason, part.reason)
            }
        }
        return StageFinding(
            lookedAt > SubscriptionFindings.harmlessMax ? .warning : .note, "subscription.unindexed", text,
            lines: told.map { "\(SubscriptionFindings.shortened($0.text)): \($0.reason)" }, fix: fix,
            group.details(name, [.init("lookedAt", UInt64(lookedAt)), .init("parts", list)]))
    }

    private var fix: String {
        var ways = ["add a clause that asks for a value, as in owner == '…' or thread IN {…}"]
        for instead in parts.compactMap(\.instead) where !ways.contains(instead) { ways.append(instead) }
        return ways.prefix(4).joined(separator: "; or ")
    }
}

extension QueryGroup {
    fileprivate func finding(_ name: String, neverFor reason: String) -> StageFinding {
        StageFinding(
            .note, "subscription.never", "\(names) never match\(count == 1 ? "es" : ""): \(reason)",
            lines: [SubscriptionFindings.shortened(first.predicate)],
            fix: "delete it, or save it with what was meant", details(name, [.init(Member.reason.description, reason)]))
    }

    /// The first few.
    fileprivate var names: String {
        let some = named.prefix(SubscriptionFindings.namedMax).map { "\"\($0.subscriptionID)\" of \($0.user)" }
        let others = count - some.count
        if others > 0 { return some.joined(separator: ", ") + " and \(others.of("other"))" }
        return some.count == 1 ? some[0] : some.dropLast().joined(separator: ", ") + " and " + some[some.count - 1]
    }

    fileprivate func details(_ name: String, _ more: [Explanation.Detail]) -> [Explanation.Detail] {
        var list = ByteBuffer()
        list.list(named) { buffer, query in
            buffer.object {
                $0.append(.user, query.user)
                $0.append(.subscriptionID, query.subscriptionID)
                $0.append("savedAt", query.savedAt)
                $0.append(.predicate, SubscriptionFindings.shortened(query.predicate))
            }
        }
        let query: [Explanation.Detail] = [
            .init("stage", name), .init("container", first.container), .init("environment", first.environment),
            .init("database", first.database), .init("recordType", first.recordType), .init("count", UInt64(count)),
        ]
        return query + more + [.init("subscriptions", list)]
    }
}
