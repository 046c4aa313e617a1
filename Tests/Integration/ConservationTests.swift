import Foundation
import PipelineKit
import TestSupport
import Testing

/// No change, match, notification or push is lost or invented on the way from the changes to the outcomes.
@Suite struct Conservation {
    private typealias Event = [String: Any]

    private let changes: [Event]
    private let matches: [Event]
    private let notifications: [Event]
    private let pushes: [Event]
    private let outcomes: [Event]

    init() async throws {
        let workload = Workload(seed: Seeded.ofThisRun, length: Tier.value(1_200, full: 2_500))
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        try await pipeline.run(workload.commands, batchSizes: [], drains: true)
        func events(_ log: String) throws -> [Event] {
            try pipeline.events(of: log).map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? Event)
            }
        }
        changes = try events("changes")
        matches = try events("matches")
        notifications = try events("notifications")
        pushes = try events("pushes")
        outcomes = try events("outcomes")
    }

    private func ofType(_ type: String, _ events: [Event]) -> [Event] {
        events.filter { $0["type"] as? String == type }
    }

    private func number(_ key: String, _ event: Event) -> Int { event[key] as? Int ?? -1 }

    private func causes(_ event: Event) -> [Int] { (event["causes"] as? [Event] ?? []).map { number("sequence", $0) } }

    /// The sequences of the events of a type in the log that `events` were read from.
    private func sequences(_ type: String, _ events: [Event]) -> [Int] {
        events.indices.filter { events[$0]["type"] as? String == type }.map { $0 + 1 }
    }

    @Test func `each change of a record is matched or counted as not matched`() {
        let records = Set(sequences("record.save", changes) + sequences("record.delete", changes))
        let matched = Set(ofType("match", matches).map { number("change", $0) })
        let unmatched = ofType("not_matched", matches)
        #expect(!matched.isEmpty && !unmatched.isEmpty)
        #expect(matched.isSubset(of: records))
        #expect(matched.count + unmatched.reduce(0) { $0 + number("count", $1) } == records.count)
        for range in unmatched {
            let inside = (number("first", range)...number("last", range)).filter {
                records.contains($0) && !matched.contains($0)
            }
            #expect(inside.count == number("count", range), "\(range)")
        }
    }

    @Test func `each match becomes a notification or is replaced by a newer match`() {
        let all = Set(sequences("match", matches))
        let replaced = ofType("coalesced", notifications).map { number("match", $0) }
        let sent = ofType("notification", notifications)
        #expect(!replaced.isEmpty && !sent.isEmpty)
        #expect(Set(replaced).count == replaced.count, "a match was replaced twice")
        #expect(Set(replaced).isSubset(of: all))
        #expect(replaced.count + sent.count == all.count)
        for event in ofType("coalesced", notifications) {
            #expect(number("replacedBy", event) > number("match", event))
            #expect(all.contains(number("replacedBy", event)))
        }
        // A notification names the changes of its match and of the matches that it replaced, so no change is missing.
        var named: [Int: Int] = [:]
        for cause in sent.flatMap(causes) { named[cause, default: 0] += 1 }
        var caused: [Int: Int] = [:]
        for match in ofType("match", matches) { caused[number("change", match), default: 0] += 1 }
        // A notification that was made from two matches of one change names the change once.
        #expect(Set(named.keys) == Set(caused.keys))
        for (change, count) in named { #expect(count <= caused[change, default: 0], "change \(change)") }
    }

    @Test func `each notification becomes one push`() {
        func keys(_ events: [Event]) -> [String] {
            events.map {
                "\($0["notificationID"] ?? "") \($0["user"] ?? "") \($0["subscriptionID"] ?? "") \(causes($0))"
            }
        }
        #expect(keys(ofType("push", pushes)) == keys(ofType("notification", notifications)))
    }

    @Test func `each push has one outcome for each device of its user, or one outcome if there is no device`() {
        var devices: [String: Set<String>] = [:]
        var expected: [String] = []
        for (index, event) in pushes.enumerated() {
            let (user, device) = (event["user"] as? String ?? "", event["device"] as? String ?? "")
            switch event["type"] as? String {
            case "device.register": devices[user, default: []].insert(device)
            case "device.unregister": devices[user]?.remove(device)
            case "push":
                let names = devices[user, default: []].sorted()
                expected += (names.isEmpty ? ["none"] : names).map { "\(index + 1) \($0)" }
            default: continue
            }
        }
        let found = ofType("outcome", outcomes).map { "\(number("push", $0)) \($0["device"] as? String ?? "none")" }
        #expect(found == expected)
        let kinds = Set(outcomes.compactMap { $0["outcome"] as? String })
        #expect(kinds.isSuperset(of: ["accepted", "excluded_origin"]), "\(kinds)")
    }
}
