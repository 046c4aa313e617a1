import Deliver
import JSON
import PipelineKit
import PipelineRuntime

/// Checks from log to log, from the changes to the outcomes, that no event is missing or doubled.
struct Conservation {
    private(set) var problems: [String] = []
    private let changes: [Event]
    private let matches: [Event]
    private let notifications: [Event]
    private let pushes: [Event]
    private let outcomes: [Event]

    /// The members of an event that the checks need.
    private struct Event {
        var type: String
        var user: String
        var device: String?
        /// The notification's ID, its user and its subscription.
        var key: String
        var numbers: [String: UInt64]
        var answer: TransportAnswer?
        var reason: String?
        /// When the device was registered, in events about its retirement.
        var registered: String?
        /// The `apns-id` of a push, or the `webhook-id` of a notice, which tells a webhook that a device was retired.
        /// Empty if the event has neither.
        var requestID: String

        /// Whether the push, or its retry, was withdrawn before a transport got it.
        var isWithdrawn: Bool {
            answer.map { $0.attempts == 0 && [.unregistered, .stopped].contains($0.outcome) } ?? false
        }
        /// Identifies a push at a device.
        var place: String { "\(numbers["push"] ?? 0) \(device ?? "none")" }
        /// Identifies the end of a device's registration.
        var retirement: String { "\(place) \(registered ?? "")" }
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
            let event = InputEvent(sequence: 1, json: json, line: bytes)
            let answer = DeliverStage.answer(recordedIn: event)
            return Event(
                type: json.text("type") ?? "", user: json.text("user") ?? "", device: json.text("device"),
                key:
                    "\(json.text("notificationID") ?? "") \(json.text("user") ?? "") \(json.text("subscriptionID") ?? "")",
                numbers: numbers, answer: answer, reason: json.text("reason"),
                registered: json.text("registered"), requestID: json.text("apns-id") ?? json.text("webhook-id") ?? "")
        }
    }

    /// The number of attempted pushes that have no outcome in an outcomes log, plus the number of retired devices whose
    /// notice has no outcome.
    static func pending(in outcomes: [String]) throws -> Int {
        let events = try outcomes.map(read)
        let places = { (type: String) in Set(events.filter { $0.type == type }.map(\.place)) }
        let retirements = { (type: String) in Set(events.filter { $0.type == type }.map(\.retirement)) }
        return places("attempt").subtracting(places("outcome")).count
            + retirements("device.retired").subtracting(retirements("notice.outcome")).count
    }

    mutating func check(_ transports: SimulatedTransports) {
        checkMatches()
        checkNotifications()
        let keys = { (type: String, events: [Event]) in events.filter { $0.type == type }.map(\.key) }
        if keys("push", pushes) != keys("notification", notifications) {
            problems.append("conservation: the pushes and the notifications differ")
        }
        checkDeliveries()
        checkNotices()
        checkAnswers(transports)
        checkRepeats(transports.tally)
    }

    /// If ``RepeatTally/mayRepeat(_:recordedReceipts:)`` is true, the outcome must say that its push may repeat. If it
    /// is false and the tally is exact, the outcome may say this only if the push's transport said it.
    private mutating func checkRepeats(_ tally: RepeatTally) {
        var receipts: [Delivery.ID: Set<String>] = [:]
        for event in outcomes {
            guard let answer = event.answer else { continue }
            if let receipt = answer.receipt { receipts[answer.id, default: []].insert(receipt) }
            guard event.type.hasSuffix("outcome") else { continue }
            let mayRepeat = tally.mayRepeat(answer.id, recordedReceipts: receipts[answer.id, default: []])
            if mayRepeat, !answer.mayRepeat {
                problems.append("repeats: \(answer.id) may repeat, but its outcome does not say so")
            }
            guard tally.isExact, answer.mayRepeat, !mayRepeat, !tally.isDoubted(answer.id) else { continue }
            problems.append("repeats: \(answer.id) cannot repeat, but its outcome says that it may")
        }
    }

    /// The reason in the host's own answer to a status query for a push that no open transport has.
    private static let lostAnswer = "its answer was lost"

    /// Each retired device must have one notice.
    private mutating func checkNotices() {
        let retirements = { [outcomes] (type: String) in outcomes.filter { $0.type == type }.map(\.retirement).sorted()
        }
        let (retired, told) = (retirements("device.retired"), retirements("notice.outcome"))
        if retired != told { problems.append("conservation: retired devices are \(retired), notices are \(told)") }
    }

    private mutating func checkMatches() {
        let records = Set(
            changes.indices.filter { index in
                let type = changes[index].type
                return type.hasPrefix("record.") && !RejectingMatch.rejects(type, UInt64(index + 1))
            }.map { UInt64($0 + 1) })
        let matched = Set(matches.filter { $0.type == "match" }.compactMap { $0.numbers["change"] })
        let unmatched = matches.filter { $0.type == "not_matched" }
        for range in unmatched {
            let (first, last) = (range.numbers["first"] ?? 1, range.numbers["last"] ?? 0)
            let inside = records.count { first <= $0 && $0 <= last && !matched.contains($0) }
            if inside != range.numbers["count"].map(Int.init) {
                problems.append(
                    "conservation: \(inside) changes from \(first) to \(last) are unmatched, but the count differs")
            }
        }
        let counted = unmatched.reduce(0) { $0 + ($1.numbers["count"] ?? 0) }
        if !matched.isSubset(of: records) || UInt64(matched.count) + counted != UInt64(records.count) {
            problems.append("conservation: \(records.count) changes, \(matched.count) matched, \(counted) not")
        }
    }

    private mutating func checkNotifications() {
        let all = matches.count { $0.type == "match" }
        let replaced = notifications.filter { $0.type == "coalesced" }.compactMap { $0.numbers["match"] }
        let sent = notifications.count { $0.type == "notification" }
        if Set(replaced).count != replaced.count || replaced.count + sent != all {
            problems.append("conservation: \(all) matches, \(replaced.count) replaced, \(sent) sent")
        }
    }

    private mutating func checkDeliveries() {
        var devices: [String: Set<String>] = [:]
        var expected: [String] = []
        for (index, event) in pushes.enumerated() {
            switch event.type {
            case "device.register": devices[event.user, default: []].insert(event.device ?? "")
            case "device.unregister": devices[event.user]?.remove(event.device ?? "")
            case "push":
                let names = devices[event.user, default: []].sorted()
                expected += (names.isEmpty ? ["none"] : names).map { "\(index + 1) \($0)" }
            case "push.redrive":
                let name = event.device.flatMap { devices[event.user, default: []].contains($0) ? $0 : nil }
                expected.append("\(index + 1) \(name ?? "none")")
            default: continue
            }
        }
        checkEnds()
        checkArrivals(expected)
    }

    /// No push may have two outcomes at a device, and each push and device with an attempt must have an outcome.
    private mutating func checkEnds() {
        let ends = outcomes.filter { $0.type == "outcome" }.map(\.place)
        if Set(ends).count != ends.count { problems.append("conservation: outcome twice for one push and device") }
        let mentioned = Set(outcomes.filter { $0.type == "attempt" }.map(\.place))
        for place in mentioned.subtracting(ends).sorted() {
            problems.append("conservation: outcome missing for \(place), which has an attempt")
        }
    }

    /// Each push must have an outcome or an attempt at every device of its user. At retired devices, both may be
    /// missing. At other users' devices, the push must have neither. If the user has no device, the push must have an
    /// outcome without a device. A redriven push has only the device that its command names.
    ///
    /// - Parameter expected: An element for each push at each of its devices, in the form of ``Event/place``.
    private mutating func checkArrivals(_ expected: [String]) {
        let places = outcomes.filter { $0.type == "outcome" || $0.type == "attempt" }.map(\.place)
        let retired = Set(outcomes.filter { $0.type == "device.retired" }.map { "\($0.user) \($0.device ?? "")" })
        let missing = Set(expected).subtracting(places)
        for place in missing.sorted() where !isExcused(place, retired) {
            problems.append("conservation: outcome missing for \(place)")
        }
        // If a push lacks an expected place, an outcome without a device is allowed: all of the user's devices may be
        // retired.
        let none = Set(missing.map { "\($0.split(separator: " ")[0]) none" })
        for place in Set(places).subtracting(expected).subtracting(none).sorted() {
            problems.append("conservation: unexpected outcome or attempt at \(place)")
        }
    }

    private func isExcused(_ place: String, _ retired: Set<String>) -> Bool {
        let words = place.split(separator: " ")
        guard let push = Int(words[0]), words.count == 2 else { return false }
        return retired.contains("\(pushes[push - 1].user) \(words[1])")
    }

    /// Each recorded outcome must be the last answer of the transport, and every sent push must be recorded.
    private mutating func checkAnswers(_ transports: SimulatedTransports) {
        let (given, sent) = (transports.lastAnswers, transports.sent)
        var recorded: [Delivery.ID: Event] = [:]
        for event in outcomes where event.type == "outcome" || event.answer != nil {
            let id = event.answer?.id ?? Delivery.ID(push: event.numbers["push"] ?? 0, device: event.device ?? "")
            recorded[id] = event
            if event.answer != nil, !event.isWithdrawn, event.requestID != sent[id] {
                problems.append("conservation: \(id) was sent under another ID than the log has")
            }
        }
        // Three kinds of outcomes are not compared. If deliver is killed before it records a transport's last answer,
        // and a newer push then replaces the push, the outcome has no answer. The host itself answers a status query
        // for a push that no open transport has. And no transport answers for a push that was withdrawn.
        for (id, event) in recorded
        where event.answer != nil && event.reason != Self.lostAnswer && !event.isWithdrawn {
            let answer = given[id]
            if event.answer?.outcome != answer?.outcome || event.reason != answer?.reason {
                problems.append("conservation: the outcome of \(id) is not the last answer of its transport")
            }
        }
        for (id, event) in recorded where event.answer == nil && given[id]?.isUnderWay == true {
            if event.numbers["attempts"] == 0 {
                problems.append("conservation: \(id) was sent, but its outcome says that it was not")
            }
        }
        // A power failure may lose the record of a retirement whose notice was already sent.
        let unrecorded = Set(sent.keys).subtracting(recorded.keys).filter { $0.retired == nil }
        let unsent = recorded.filter { $0.value.answer != nil && !$0.value.isWithdrawn && sent[$0.key] == nil }
        if !unrecorded.isEmpty || !unsent.isEmpty {
            problems.append(
                "conservation: sent but not recorded: \(Array(unrecorded)), recorded but not sent: \(Array(unsent.keys))"
            )
        }
        if Set(sent.values).count != sent.count { problems.append("conservation: two pushes or notices share an ID") }
    }
}
