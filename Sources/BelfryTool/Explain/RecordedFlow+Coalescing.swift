import CloudKitModel
import EventLog
import JSON
import PipelineKit

extension RecordedFlow {
    /// The longest that settings let a notification wait.
    private static let patience = Duration.seconds(36_000)

    mutating func notification(
        of match: LoggedEvent, _ change: UInt64, _ stage: PipelineStage, in logs: RecordedLogs
    ) throws -> LoggedEvent? {
        guard let log = logs.log(ofKind: stage.kind) else {
            end = pending(stage)
            return nil
        }
        let mayWait = try match.withJSON { json in
            NotificationVisibility.isSilent(json["notificationInfo"])
                || json["notificationInfo"]?["collapseIDKey"]?.isString ?? false
        }
        var search = NotificationSearch(match: match.sequence, change: change, user: user, subscription: subscriptionID)
        let limit = match.now.advanced(by: RecordedFlow.patience)
        var reached = false
        let isOver = try LogScan.events(in: log, from: match.now, marks: LogScan.quoted([user])) {
            search.look(at: $0)
        } isEnough: { header in
            reached = reached || header.reaches(match.sequence)
            return search.found != nil || (mayWait ? header.now > limit : reached)
        }
        steps += search.replacement
        if let found = search.found {
            steps.append(try made(found, stage))
            if let early = try flushed(found, stage) { steps.append(early) }
            causes = try found.withJSON { json in
                json["causes"].map { $0.elements.compactMap { $0["sequence"]?.sequenceNumber } } ?? []
            }
            return found
        }
        end = isOver ? try lost(match.sequence, stage, logs) : reached && mayWait ? held(stage) : pending(stage)
        return nil
    }

    private func made(_ notification: LoggedEvent, _ stage: PipelineStage) throws -> Explanation {
        try notification.withJSON { json in
            let id = json["notificationID"]?.string ?? ""
            let count = json["causes"]?.count ?? 1
            let text = "notification \(id) was made" + (count > 1 ? ", which stands for \(count) changes" : "")
            return Explanation(
                stage.kind, .notificationMade, text,
                [.init("notificationID", id), .init("sequence", notification.sequence)])
        }
    }

    /// Nil where the notification left in its time.
    private func flushed(_ notification: LoggedEvent, _ stage: PipelineStage) throws -> Explanation? {
        try notification.withJSON { json in
            guard let word = json["atLimit"]?.string else { return nil }
            return Explanation(
                stage.kind, .notificationFlushed,
                "the user had as many notifications pending as allowed, so this one left at once (\(word))",
                [.init("atLimit", word)])
        }
    }

    private func held(_ stage: PipelineStage) -> Explanation {
        Explanation(stage.kind, .notificationHeld, "the notification waits for a newer one that may replace it")
    }
}

/// Follows a match through those that replaced it to the notification that stands for it.
private struct NotificationSearch {
    private var newest: (match: Int64, change: Int64)
    private let change: Int64
    private let user: String
    private let subscription: String
    private var replacements = 0
    private(set) var found: LoggedEvent?

    init(match: UInt64, change: UInt64, user: String, subscription: String) {
        newest = (Int64(match), Int64(change))
        self.change = Int64(change)
        self.user = user
        self.subscription = subscription
    }

    mutating func look(at event: LogScan.Event) {
        let json = event.json
        guard found == nil, json["user"]?.equals(user) ?? false else { return }
        if json["type"]?.equals("coalesced") ?? false {
            replace(json)
        } else if json["type"]?.equals("notification") ?? false, json["change"]?.int64 == newest.change,
            json["causes"]?.elements.contains(where: { $0["sequence"]?.int64 == change }) ?? false,
            replacements > 0 || json["subscriptionID"]?.equals(subscription) ?? false
        {
            found = event.kept
        }
    }

    private mutating func replace(_ json: JSONValue) {
        guard json["match"]?.int64 == newest.match, let match = json["replacedBy"]?.int64,
            let change = json["replacedByChange"]?.int64
        else { return }
        newest = (match, change)
        replacements += 1
    }

    /// Nothing where none replaced it.
    var replacement: [Explanation] {
        guard replacements > 0 else { return [] }
        let text =
            replacements == 1
            ? "a newer notification, of change \(newest.change), replaced it"
            : "\(replacements) newer notifications replaced it one after the other, the last one of change "
                + "\(newest.change)"
        return [
            Explanation(
                "coalesce", .coalescedInto, text,
                [
                    .init("replacedBy", UInt64(clamping: newest.match)),
                    .init("replacedByChange", UInt64(clamping: newest.change)),
                    .init("times", UInt64(replacements)),
                ])
        ]
    }
}
