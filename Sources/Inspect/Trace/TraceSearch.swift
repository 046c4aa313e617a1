import Events
import JSON
import StageTool

/// The kinds of ID that can be traced.
package enum TraceIDKind: String, CaseIterable {
    /// The sequence of a change, or the log and sequence of any event as `LOG:SEQUENCE`.
    case change
    case record
    case notification
    case apnsID = "apns-id"
    case device
}

/// The result of looking up an ID.
package enum TraceFinding {
    /// The ID belongs to one event, or to the events of one notification. One trace shows these events.
    case targets([TraceEvent], TraceIDKind)
    /// The ID fits several events, listed from the newest. `hasMore` is true if some were left out.
    case hits([TraceHit], hasMore: Bool)
    /// The ID was not found. Each line says what was searched for and where, or what is wrong with the ID.
    case nothing([String])
}

package struct TraceHit {
    package var kind: TraceIDKind
    package var event: TraceEvent
}

/// Looks up an ID in a pipeline's logs.
package struct TraceSearch {
    let logs: TraceLogs
    let limit: Int
    /// The most events of one notification ID that are read from a log. A log may have an event with this ID for each
    /// subscription that watched the change.
    private static let notificationsMax = Causality.matchesMax

    package init(logs: TraceLogs, limit: Int) { (self.logs, self.limit) = (logs, limit) }

    package func find(_ id: String, as kind: TraceIDKind? = nil) throws -> TraceFinding {
        var tried: [String] = []
        if kind ?? .change == .change, let place = place(id) {
            if let event = try logs.event(at: place) { return .targets([event], .change) }
            tried.append(try missing(place))
        } else if kind == .change {
            tried.append(
                "'\(id.printable)' is not a position in these logs; give a sequence like 17, or a log and a sequence "
                    + "like matches:5")
        }
        let kinds = kind.map { [$0] } ?? TraceIDKind.allCases
        let groups = try kinds.filter { $0 != .change }.map { ($0, try events(ExactText(id), $0)) }
        return combined(groups.filter { !$0.1.isEmpty }) ?? .nothing(tried + searched(for: kinds))
    }

    /// If the ID is only a notification ID, all events with it are the targets of one trace. In all other cases several
    /// events are several hits.
    private func combined(_ groups: [(TraceIDKind, [TraceEvent])]) -> TraceFinding? {
        guard let (kind, events) = groups.first else { return nil }
        if groups.count == 1, kind == .notification || events.count == 1 { return .targets(events, kind) }
        let hits = groups.flatMap { kind, events in events.map { TraceHit(kind: kind, event: $0) } }
            .sorted { $0.event.now > $1.event.now }
        return .hits(Array(hits.prefix(limit)), hasMore: hits.count > limit)
    }

    private func place(_ id: String) -> EventPlace? {
        let parts = id.split(separator: ":", omittingEmptySubsequences: false)
        guard let number = parts.last, number.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let sequence = UInt64(number), sequence > 0
        else { return nil }
        if parts.count == 1 { return logs.changes.map { EventPlace(log: $0.name, sequence: sequence) } }
        let name = parts.dropLast().joined(separator: ":")
        return logs.log(named: name).map { EventPlace(log: $0.name, sequence: sequence) }
    }

    private func missing(_ place: EventPlace) throws -> String {
        guard let log = logs.log(named: place.log) else { return "no log \(place.log)" }
        let index = try logs.index(of: log)
        let missing = "no event \(place.sequence) in \(log.name)"
        if index.lastSequence < index.firstSequence { return "\(missing): the log is empty" }
        return "\(missing): the log contains \(index.firstSequence) to \(index.lastSequence)"
    }

    private func searched(for kinds: [TraceIDKind]) -> [String] {
        let searched: [(TraceIDKind, String, [TracedLog.Role])] = [
            (.record, "no record with this name", [.source]),
            (.notification, "no notification with this ID", [.making(.notifications), .making(.matches)]),
            (.apnsID, "no outcome with this apns-id", [.making(.outcomes)]),
            (.device, "no device with this name", [.making(.outcomes), .source]),
        ]
        return searched.filter { kinds.contains($0.0) }.map { _, text, roles in
            let names = roles.flatMap(logs.logs(as:)).map(\.name)
            return text + (names.isEmpty ? ": there is no log to search yet" : " in \(names.joined(separator: " or "))")
        }
    }
}

extension TraceSearch {
    private func events(_ id: ExactText, _ kind: TraceIDKind) throws -> [TraceEvent] {
        switch kind {
        case .change: []
        case .record: try newest(TraceKey(.record, id), .source) { $0.recordName == id && $0.isChange }
        case .apnsID: try newest(TraceKey(.apnsID, id), .making(.outcomes)) { $0.apnsID == id }
        case .device:
            try newest(TraceKey(.device, id), .making(.outcomes)) { $0.device == id }
                + newest(TraceKey(.device, id), .source) { $0.device == id || $0.originDevice == id }
        case .notification: try notifications(id)
        }
    }

    private func newest(
        _ key: TraceKey, _ role: TracedLog.Role, _ isWanted: (EventFacts) -> Bool
    ) throws -> [TraceEvent] {
        try logs.logs(as: role).flatMap { log in
            try logs.events(key, in: log, newestFirst: true, limit: limit + 1, where: isWanted)
        }
    }

    /// The notifications with an ID. If there is no such notification, the matches with this ID.
    private func notifications(_ id: ExactText) throws -> [TraceEvent] {
        for (log, type) in [(LogKind.notifications, EventName.notification), (.matches, EventName.match)] {
            let events = try logs.logs(as: .making(log)).flatMap { log in
                try logs.events(TraceKey(.notification, id), in: log, limit: TraceSearch.notificationsMax) {
                    $0.notificationID == id && $0.type == type.description
                }
            }
            if !events.isEmpty { return events }
        }
        return []
    }
}
