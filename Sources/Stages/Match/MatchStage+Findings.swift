import Events
import JSON
import PipelineKit

/// Reports two kinds of subscriptions. Subscriptions of the first kind are evaluated for nearly every change of their
/// record type, because the index can use no part of their predicate. Subscriptions of the second kind can never match.
/// One finding covers all similar subscriptions.
extension MatchStage {
    package static let checkName: String? = "subscriptions"

    package func findings(of name: String) -> [StageFinding] {
        let found = unindexed.map { $0.finding(name) } + neverTrue.map { $0.group.finding(name, neverFor: $0.reason) }
        guard found.count > FindingLimits.groupsMax else { return found.isEmpty ? [allIndexed(name)] : found }
        return found.prefix(FindingLimits.groupsMax) + [more(name, found.count - FindingLimits.groupsMax)]
    }

    private func allIndexed(_ name: String) -> StageFinding {
        StageFinding(
            .ok, "subscription.indexed",
            "\(name): \(subscriptionCount.of("subscription")), and the index covers all of them",
            [.init("stage", name), .init("subscriptions", UInt64(subscriptionCount))])
    }

    private func more(_ name: String, _ count: Int) -> StageFinding {
        StageFinding(
            .note, "subscription.more", "\(name): \(count.of("more group")) of subscriptions with findings",
            fix: "correct the subscriptions above first", [.init("stage", name), .init("groups", UInt64(count))])
    }
}

private enum FindingLimits {
    /// Evaluating this many subscriptions for a change takes about ten microseconds. If there are more, the finding is
    /// a warning.
    static let harmlessMax = 100
    /// The most groups that are reported for a stage.
    static let groupsMax = 200
    /// The most characters of a predicate or part that are shown.
    static let charactersMax = 200
    /// The most subscriptions of a group that the text names.
    static let namedMax = 3
    /// The most parts of a predicate that are shown.
    static let partsMax = 20

    static func shortened(_ text: String) -> String {
        text.count > charactersMax ? text.prefix(charactersMax - 1) + "…" : text
    }
}

extension UnindexedSubscriptions {
    fileprivate func finding(_ name: String) -> StageFinding {
        let (query, shown) = (group.first, parts.prefix(FindingLimits.partsMax))
        let text =
            "\(group.names) \(group.count == 1 ? "is" : "are") evaluated for every change of \(query.recordType) in the "
            + "\(query.database) database, \(query.container), \(query.environment)"
        var list = ByteBuffer()
        list.list(shown) { buffer, part in
            buffer.object {
                $0.append("text", FindingLimits.shortened(part.text))
                $0.append(.reason, part.reason)
            }
        }
        return StageFinding(
            evaluatedPerChange > FindingLimits.harmlessMax ? .warning : .note, "subscription.unindexed", text,
            lines: shown.map { "\(FindingLimits.shortened($0.text)): \($0.reason)" }, fix: fix,
            group.details(name, [.init("lookedAt", UInt64(evaluatedPerChange)), .init("parts", list)]))
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
            lines: [FindingLimits.shortened(first.predicate)],
            fix: "delete \(count == 1 ? "the subscription, or save it" : "the subscriptions, or save them") again with "
                + "the intended predicate",
            details(name, [.init(Member.reason.description, reason)]))
    }

    /// Names the first subscriptions of the group, and counts the others.
    fileprivate var names: String {
        let some = listed.prefix(FindingLimits.namedMax).map { "\"\($0.subscriptionID)\" of \($0.user)" }
        let others = count - some.count
        if others > 0 { return some.joined(separator: ", ") + " and \(others.of("other"))" }
        return some.count == 1 ? some[0] : some.dropLast().joined(separator: ", ") + " and " + some[some.count - 1]
    }

    fileprivate func details(_ name: String, _ more: [Explanation.Detail]) -> [Explanation.Detail] {
        var list = ByteBuffer()
        list.list(listed) { buffer, query in
            buffer.object {
                $0.append(.user, query.user)
                $0.append(.subscriptionID, query.subscriptionID)
                $0.append("savedAt", query.savedAt)
                $0.append(.predicate, FindingLimits.shortened(query.predicate))
            }
        }
        let query: [Explanation.Detail] = [
            .init("stage", name), .init("container", first.container), .init("environment", first.environment),
            .init("database", first.database), .init("recordType", first.recordType), .init("count", UInt64(count)),
        ]
        return query + more + [.init("subscriptions", list)]
    }
}
