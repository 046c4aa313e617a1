import JSON
import PipelineKit
import PipelineRuntime

/// Every change ends in recorded outcomes, none is missing and none is there twice.
struct Conservation {
    private(set) var problems: [String] = []
    private let changes: [Event]
    private let matches: [Event]
    private let notifications: [Event]
    private let pushes: [Event]
    private let outcomes: [Event]

    /// The members of an event that tell where it comes from and where it goes.
    private struct Event {
        var type: String
        var user: String
        var device: String?
        var key: String
        var numbers: [String: UInt64]
        var outcome: String?
        var reason: String?
        var apnsID: String
    }

    init(changes: [String], matches: [String], notifications: [String], pushes: [String], outcomes: [String]) throws {
        self.changes = try changes.map(Self.read)
        self.matches = try matches.map(Self.read)
        self.notifications = try notifications.map(Self.read)
        self.pushes = try pushes.map(Self.read)
        self.outcomes = try outcomes.map(Self.read)
    }

    private static func read(_ line: String) throws -> Event {
        var parser = JSONParser()
        return try Array(line.utf8).withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            var numbers: [String: UInt64] = [:]
            for (name, value) in [
                ("change", json.natural("change")), ("match", json.natural("match")), ("push", json.natural("push")),
                ("first", json.natural("first")), ("last", json.natural("last")), ("count", json.natural("count")),
                ("attempts", json.natural("attempts")),
            ] { numbers[name] = value }
            return Event(
                type: json.text("type") ?? "", user: json.text("user") ?? "", device: json.text("device"),
                key:
                    "\(json.text("notificationID") ?? "") \(json.text("user") ?? "") \(json.text("subscriptionID") ?? "")",
                numbers: numbers, outcome: json.text("outcome"), reason: json.text("reason"),
                apnsID: json.text("apns-id") ?? "")
        }
    }

    mutating func check(_ transports: SimulatedTransports) {
        matching()
        coalescing()
        let keys = { (type: String, events: [Event]) in events.filter { $0.type == type }.map(\.key) }
        if keys("push", pushes) != keys("notification", notifications) {
            problems.append("conservation: the pushes are not those of the notifications")
        }
        delivering()
        answering(transports)
    }

    private mutating func matching() {
        let records = Set(
            changes.indices.filter { index in
                let type = changes[index].type
                return type.hasPrefix("record.") && !PickyMatch.rejects(type, UInt64(index + 1))
            }.map { UInt64($0 + 1) })
        let matched = Set(matches.filter { $0.type == "match" }.compactMap { $0.numbers["change"] })
        let unmatched = matches.filter { $0.type == "not_matched" }
        for range in unmatched {
            let (first, last) = (range.numbers["first"] ?? 1, range.numbers["last"] ?? 0)
            let inside = records.count { first <= $0 && $0 <= last && !matched.contains($0) }
            if inside != range.numbers["count"].map(Int.init) {
                problems.append(
                    "conservation: \(inside) changes from \(first) to \(last) are unmatched, not as counted")
            }
        }
        let counted = unmatched.reduce(0) { $0 + ($1.numbers["count"] ?? 0) }
        if !matched.isSubset(of: records) || UInt64(matched.count) + counted != UInt64(records.count) {
            problems.append("conservation: \(records.count) changes, \(matched.count) matched, \(counted) not")
        }
    }

    private mutating func coalescing() {
        let all = matches.count { $0.type == "match" }
        let replaced = notifications.filter { $0.type == "coalesced" }.compactMap { $0.numbers["match"] }
        let sent = notifications.count { $0.type == "notification" }
        if Set(replaced).count != replaced.count || replaced.count + sent != all {
            problems.append("conservation: \(all) matches, \(replaced.count) replaced, \(sent) sent")
        }
    }

    private mutating func delivering() {
        var devices: [String: Set<String>] = [:]
        var expected: [String] = []
        for (index, event) in pushes.enumerated() {
            switch event.type {
            case "device.register": devices[event.user, default: []].insert(event.device ?? "")
            case "device.unregister": devices[event.user]?.remove(event.device ?? "")
            case "push":
                let names = devices[event.user, default: []].sorted()
                expected += (names.isEmpty ? ["none"] : names).map { "\(index + 1) \($0)" }
            default: continue
            }
        }
        let found = outcomes.map { "\($0.numbers["push"] ?? 0) \($0.device ?? "none")" }
        guard found != expected else { return }
        let place = zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, expected.count)
        problems.append(
            "conservation: outcome \(place + 1) is for \(found.dropFirst(place).first ?? "nobody"), expected "
                + "\(expected.dropFirst(place).first ?? "nobody"); \(found.count) outcomes, expected \(expected.count)")
    }

    /// What is recorded is the last that a transport said, and nothing that a transport said is missing.
    private mutating func answering(_ transports: SimulatedTransports) {
        let (given, sent) = (transports.given, transports.sent)
        var recorded: Set<Delivery.ID> = []
        for event in outcomes where event.outcome == "accepted" || event.outcome == "failed" {
            let id = Delivery.ID(push: event.numbers["push"] ?? 0, device: event.device ?? "")
            if !recorded.insert(id).inserted { problems.append("conservation: \(id) has two outcomes") }
            let answer = given[id]
            if event.outcome != answer?.outcome.rawValue || event.reason != answer?.reason {
                problems.append("conservation: the outcome of \(id) is not what its transport said")
            }
            if event.apnsID != sent[id] { problems.append("conservation: \(id) was sent under another apns-id") }
        }
        if recorded != Set(sent.keys) {
            problems.append("conservation: \(sent.count) pushes were sent, \(recorded.count) have their outcomes")
        }
        if Set(sent.values).count != sent.count { problems.append("conservation: two pushes share an apns-id") }
    }
}
