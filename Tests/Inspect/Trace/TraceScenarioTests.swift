import Testing

@testable import Inspect

/// Whole traces of the scenarios in `Pipelines`.
@Suite struct TraceScenarioTests {
    @Test func `the trace of a change continues with its notification, even if its match was replaced`() async throws {
        let logs = try await TracedLogs.scenario("a-burst-becomes-one-notification", in: "debounce")
        #expect(
            try logs.tree("5") == """
                changes:5  2026-01-01T09:00:01.400Z  record.save  create Note n2 ◀
                └─ matches:4  2026-01-01T09:00:01.400Z  +0 ms  match  _alice notes (create)
                   └─ notifications:4  2026-01-01T09:00:01.600Z  +200 ms  coalesced  _alice notes replaced by match 5 (change 6)
                      └─ notifications:6  2026-01-01T09:00:02.800Z  +1.2 s  notification  _alice notes for changes 3, 4, 5, 6, 7
                         └─ pushes:2  2026-01-01T09:00:02.800Z  +0 ms  push  _alice notes "A note changed"
                            └─ outcomes:1  2026-01-01T09:00:02.800Z  +0 ms  outcome  accepted _alice/alice-phone by apns
                """)
        #expect(
            try logs.tree("changes:7") == """
                changes:7  2026-01-01T09:00:01.800Z  record.save  update Note n1 ◀
                └─ matches:6  2026-01-01T09:00:01.800Z  +0 ms  match  _alice notes (update)
                   └─ notifications:6  2026-01-01T09:00:02.800Z  +1 s  notification  _alice notes for changes 3, 4, 5, 6, 7
                      └─ pushes:2  2026-01-01T09:00:02.800Z  +0 ms  push  _alice notes "A note changed"
                         └─ outcomes:1  2026-01-01T09:00:02.800Z  +0 ms  outcome  accepted _alice/alice-phone by apns
                """)
    }

    @Test func `an outcome is traced back to all its changes`() async throws {
        let logs = try await TracedLogs.scenario(
            "a-database-subscription-is-silent", of: "quickstart", in: "debounce")
        #expect(
            try logs.tree("outcomes:1") == """
                changes:4  2026-01-01T09:00:01Z  record.save  create Note n1
                └─ matches:3  2026-01-01T09:00:01Z  +0 ms  match  _alice sync (create)
                   └─ notifications:3  2026-01-01T09:00:01.500Z  +500 ms  coalesced  _alice sync replaced by match 4 (change 5)
                      └─ notifications:4  2026-01-01T09:00:02.500Z  +1 s  notification  _alice sync for changes 4, 5
                         └─ pushes:3  2026-01-01T09:00:02.500Z  +0 ms  push  _alice sync silent
                            └─ outcomes:1  2026-01-01T09:00:02.500Z  +0 ms  outcome  accepted _alice/alice-phone by apns ◀
                changes:5  2026-01-01T09:00:01.500Z  record.save  create Draft d1
                └─ matches:4  2026-01-01T09:00:01.500Z  +0 ms  match  _alice sync (create)
                   └─ notifications:4  +1 s  as above
                """)
    }

    @Test func `the trace shows that the device that made the change gets no push`() async throws {
        let logs = try await TracedLogs.scenario("the-device-that-made-a-change-is-excluded")
        #expect(
            try logs.tree("n1") == """
                changes:5  2026-01-01T09:00:01Z  record.save  create Note n1 by _alice/alice-mac ◀
                └─ matches:4  2026-01-01T09:00:01Z  +0 ms  match  _alice notes (create)
                   └─ notifications:4  2026-01-01T09:00:01Z  +0 ms  notification  _alice notes
                      └─ pushes:4  2026-01-01T09:00:01Z  +0 ms  push  _alice notes "A note changed"
                         ├─ outcomes:1  2026-01-01T09:00:01Z  +0 ms  outcome  excluded_origin _alice/alice-mac by apns
                         └─ outcomes:2  2026-01-01T09:00:01Z  +0 ms  outcome  accepted _alice/alice-phone by apns
                """)
    }

    @Test func `a change without a match is in the range of a not_matched event`() async throws {
        let logs = try await TracedLogs.scenario("tour")
        #expect(
            try logs.tree("announcement-1") == """
                changes:10  2026-01-01T09:00:01.200Z  record.save  create Announcement announcement-1 ◀
                └─ matches:9  2026-01-01T09:00:02.200Z  +1 s  not_matched  1 of the changes 1 to 13 matched no subscription
                """)
        #expect(
            try logs.tree("matches:9") == """
                matches:9  2026-01-01T09:00:02.200Z  not_matched  1 of the changes 1 to 13 matched no subscription ◀
                """)
    }

    @Test func `a registration is traced through all logs that contain it, and a subscription is only in changes`()
        async throws
    {
        let logs = try await TracedLogs.scenario("tour")
        let tree = """
            changes:2  2026-01-01T09:00:00.200Z  device.register  _alice alice-mac apns
            └─ matches:2  2026-01-01T09:00:00.200Z  +0 ms  device.register  _alice alice-mac apns
               └─ notifications:2  2026-01-01T09:00:00.200Z  +0 ms  device.register  _alice alice-mac apns
                  └─ pushes:2  2026-01-01T09:00:00.200Z  +0 ms  device.register  _alice alice-mac apns ◀
            """
        #expect(try logs.tree("pushes:2") == tree)
        let subscription = "changes:5  2026-01-01T09:00:00.500Z  subscription.save  _alice urgent ◀"
        #expect(try logs.tree("5") == subscription)
    }

    @Test func `the trace of every event contains the event and its causes, and no expected effect is missing`()
        async throws
    {
        let logs = try await TracedLogs.scenario("tour")
        let opened = try logs.opened()
        let causality = Causality(opened)
        var count = 0
        for log in opened.logs {
            let index = try opened.index(of: log)
            for sequence in 1...index.lastSequence {
                let event = try #require(try opened.event(at: sequence, in: log))
                let graph = try TraceGraph(of: [event], causality)
                #expect(graph.nodes[event.place] != nil && !graph.roots.isEmpty)
                for cause in event.facts.causes {
                    #expect(graph.nodes[EventPlace(log: "changes", sequence: cause)] != nil, "\(event.place)")
                }
                let waits = graph.nodes.values.contains { $0.waitsFor != nil }
                #expect(!waits, "\(event.place): an event that should have an effect has none")
                count += 1
            }
        }
        #expect(count > 120)
    }

    @Test func `an index in memory and an index in files give the same results`() async throws {
        let logs = try await TracedLogs.scenario("tour")
        for usesFiles in [false, true, true] {
            let opened = try logs.opened(usesIndexFiles: usesFiles)
            let outcomes = try #require(opened.log(named: "outcomes"))
            #expect(
                try opened.events(TraceKey(.device, "alice-phone"), in: outcomes).map(\.sequence) == [
                    4, 6, 10, 12, 14, 18, 24, 26, 28,
                ])
            #expect(try opened.deviceEvents(of: "_alice").map(\.facts.device) == ["alice-phone", "alice-mac"])
        }
    }
}
