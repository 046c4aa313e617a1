import Testing

@testable import Inspect

/// Traces of logs written by hand, for cases that short runs do not have.
@Suite struct TraceCausalityTests {
    private static let device = #"{"type":"device.register","user":"_a","device":"phone","transport":"apns"}"#

    /// The depth and place of each line of a trace.
    private func outline(_ logs: TracedLogs, _ id: String) throws -> [String] {
        try logs.tree(id).split(separator: "\n").map { line in
            let words = line.drop { " └├─│".contains($0) }.split(separator: " ")
            return "\(line.prefix { " └├─│".contains($0) }.count / 3) \(words[0])"
        }
    }

    @Test func `the trace of an event that a stage rejected shows the dead letter`() throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a"), TestEvents.change("b")])
            .write("matches", [#"{"type":"not_matched","first":1,"last":2,"count":1}"#], from: "changes")
            .write("matches.dead-letters", [TestEvents.deadLetter("match", "changes", 2)])
        #expect(
            try logs.tree("b") == """
                changes:2  2026-01-01T00:00:02Z  record.save  create Note b ◀
                └─ matches.dead-letters:1  2026-01-01T00:00:01Z  -1 s  dead_letter  by match: field.type user must be a text
                """)
        #expect(try outline(logs, "matches.dead-letters:1") == ["0 changes:2", "1 matches.dead-letters:1"])
        #expect(try outline(logs, "a") == ["0 changes:1", "1 matches:1"])
    }

    @Test func `the trace of a redriven push shows the redrive, and a redrive of the redrive`() throws {
        func redrive(_ push: Int) -> String {
            #"{"type":"push.redrive","user":"_a","device":"mac","redriveOf":{"log":"pushes","sequence":\#(push)},"push":{}}"#
        }
        let (first, second, third) = (redrive(1), redrive(2), redrive(3))
        let logs = try TracedLogs().write("changes", [TestEvents.change("a"), first, second, third])
            .write("matches", [TestEvents.match(1, "_a", "s"), first, second, third], from: "changes")
            .write("notifications", [TestEvents.notification([1], "_a", "s"), first, second], from: "matches")
            .write("pushes", [TestEvents.push([1], "_a", "s"), first, second], from: "notifications")
            .write(
                "outcomes", (1...3).map { TestEvents.outcome($0, [1], "_a", "mac") }, from: "pushes")
        let tree = [
            "0 changes:1", "1 matches:1", "2 notifications:1", "3 pushes:1", "4 outcomes:1", "4 pushes:2",
            "5 outcomes:2", "5 pushes:3", "6 outcomes:3", "6 changes:4", "7 matches:4",
        ]
        #expect(try outline(logs, "a") == tree)
        #expect(try logs.tree("a").contains("push.redrive  _a/mac of pushes:1"))
        #expect(
            try outline(logs, "changes:2") == [
                "0 changes:2", "1 matches:2", "2 notifications:2", "3 pushes:2", "4 outcomes:2", "4 pushes:3",
                "5 outcomes:3", "5 changes:4", "6 matches:4",
            ])
        #expect(try outline(logs, "3-mac").first == "0 changes:1")
    }

    @Test func `the trace of a held notification names the log that it has not reached yet`() throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a"), TestEvents.change("b")])
            .write("matches", [TestEvents.match(1, "_a", "s"), TestEvents.match(2, "_a", "s")], from: "changes")
            .write(
                "notifications", [TestEvents.coalesced(match: 1, change: 1, by: 2, change: 2, "_a", "s")],
                from: "matches", cursors: [2])
        #expect(
            try logs.tree("a").split(separator: "\n").suffix(1) == ["      └─ nothing in notifications yet"])
        #expect(try logs.tree("b").hasSuffix("   └─ nothing in notifications yet"))
        let json = TraceJSON.text(try logs.graph("b"), asked: "b", as: .record)
        #expect(json.contains(#""waitsFor":"notifications""#))
    }

    @Test func `the trace of a change has a branch for each of two subscriptions of one user`() throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a")])
            .write("matches", [TestEvents.match(1, "_a", "s"), TestEvents.match(1, "_a", "t")], from: "changes")
            .write("notifications", [TestEvents.notification([1], "_a", "t"), TestEvents.notification([1], "_a", "s")])
            .write("pushes", [TestEvents.push([1], "_a", "t"), TestEvents.push([1], "_a", "s")])
            .write("outcomes", [TestEvents.outcome(2, [1], "_a", "mac"), TestEvents.outcome(1, [1], "_a", "phone")])
        #expect(
            try outline(logs, "1") == [
                "0 changes:1", "1 matches:1", "2 notifications:2", "3 pushes:2", "4 outcomes:1", "1 matches:2",
                "2 notifications:1", "3 pushes:1", "4 outcomes:2",
            ])
        #expect(
            try outline(logs, "1-phone") == [
                "0 changes:1", "1 matches:2", "2 notifications:1", "3 pushes:1", "4 outcomes:2",
            ])
        #expect(try outline(logs, "id-1").count == 9, "the ID finds both notifications")
    }

    /// A user has two notifications for one change. Each `coalesced` event names the next newer match. The last match
    /// of this chain shows which of the two notifications replaced the first match.
    @Test func `the trace of a replaced match continues with the notification that replaced it in the end`() throws {
        let logs = try TracedLogs().write("changes", ["a", "b", "c"].map(TestEvents.change))
            .write(
                "matches",
                [(1, "s"), (1, "t"), (2, "s"), (2, "t"), (3, "s")].map { TestEvents.match($0.0, "_a", $0.1) }
            )
            .write(
                "notifications",
                [
                    TestEvents.coalesced(match: 1, change: 1, by: 3, change: 2, "_a", "s"),
                    TestEvents.coalesced(match: 2, change: 1, by: 4, change: 2, "_a", "t"),
                    TestEvents.coalesced(match: 3, change: 2, by: 5, change: 3, "_a", "s"),
                    TestEvents.notification([1, 2], "_a", "t"),
                    TestEvents.notification([1, 2, 3], "_a", "s"),
                ])
        #expect(
            try outline(logs, "1") == [
                "0 changes:1", "1 matches:1", "2 notifications:1", "3 notifications:5", "1 matches:2",
                "2 notifications:2", "3 notifications:4",
            ])
    }

    @Test func `if retention removed the change of a match, the trace begins with the match`() throws {
        let logs = try TracedLogs().write("matches", [TestEvents.match(7, "_a", "s")])
            .write("notifications", [TestEvents.notification([7], "_a", "s")])
            .write("changes", [])
        #expect(try outline(logs, "notifications:1") == ["0 matches:1", "1 notifications:1"])
    }

    @Test func `if many changes led to one event, only the newest are traced`() throws {
        let numbers = Array(1...80)
        let logs = try TracedLogs().write("changes", numbers.map { TestEvents.change("r\($0)") })
            .write("matches", numbers.map { TestEvents.match($0, "_a", "s") })
            .write(
                "notifications",
                numbers.dropLast().map {
                    TestEvents.coalesced(match: $0, change: $0, by: $0 + 1, change: $0 + 1, "_a", "s")
                }
                    + [TestEvents.notification(numbers, "_a", "s")])
        let graph = try logs.graph("notifications:80")
        #expect(graph.roots.count == 50 && graph.roots.first?.sequence == 31 && graph.changesLeftOut == 30)
        #expect(try logs.tree("notifications:80").hasPrefix("(30 earlier changes left out)\nchanges:31 "))
        #expect(try outline(logs, "1").last == "3 notifications:80")
    }

    @Test func `a change with very many matches is traced for one user, or for the first matches`() throws {
        let users = (1...2_100).map { "_u\($0)" }
        let logs = try TracedLogs().write("changes", [TestEvents.change("a")])
            .write("matches", users.map { TestEvents.match(1, $0, "s") })
            .write("notifications", users.map { TestEvents.notification([1], $0, "s") })
            .write("pushes", users.map { TestEvents.push([1], $0, "s") })
            .write("outcomes", users.enumerated().map { TestEvents.outcome($0.offset + 1, [1], $0.element, "phone") })
        #expect(
            try outline(logs, "outcomes:2050") == [
                "0 changes:1", "1 matches:2050", "2 notifications:2050", "3 pushes:2050", "4 outcomes:2050",
            ])
        let opened = try logs.opened()
        let change = try #require(try opened.event(at: EventPlace(log: "changes", sequence: 1)))
        let effects = try Causality(opened).effects(of: change)
        #expect(effects.events.map(\.sequence) == Array(1...UInt64(Causality.matchesMax)))
        #expect(effects.isCut)
    }

    @Test(arguments: [(Causality.matchesMax, false), (Causality.matchesMax + 1, true)])
    func `a trace says that matches are left out only if some are`(matches: Int, isCut: Bool) throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a")])
            .write("matches", (1...matches).map { TestEvents.match(1, "_u\($0)", "s") })
        let opened = try logs.opened()
        let change = try #require(try opened.event(at: EventPlace(log: "changes", sequence: 1)))
        let graph = try TraceGraph(of: [change], Causality(opened))
        #expect(graph.isCut == isCut && graph.nodes.count == 1 + Causality.matchesMax)
    }

    @Test func `cursors distinguish registrations with the same content`() throws {
        let logs = try TracedLogs().write("changes", [Self.device, Self.device])
            .write("matches", [Self.device, Self.device], from: "changes")
            .write("notifications", [Self.device, Self.device], from: "matches")
        #expect(try outline(logs, "1") == ["0 changes:1", "1 matches:1", "2 notifications:1"])
        #expect(try outline(logs, "2") == ["0 changes:2", "1 matches:2", "2 notifications:2"])
        #expect(try outline(logs, "notifications:2") == ["0 changes:2", "1 matches:2", "2 notifications:2"])
        #expect(try outline(logs, "matches:1") == ["0 changes:1", "1 matches:1", "2 notifications:1"])
    }

    @Test func `a trace goes through a plugin between two stages, or says that the plugin dropped the event`() throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a"), TestEvents.change("b")])
            .write("matches", [TestEvents.match(1, "_a", "s"), TestEvents.match(2, "_a", "s")], from: "changes")
            .write("filter", [TestEvents.match(2, "_a", "s")], from: "matches", cursors: [2])
            .write("notifications", [TestEvents.notification([2], "_a", "s")], from: "filter")
        let file = try logs.folder.write(
            """
            pipeline: filtered
            data: .
            stages:
              ingest: {}
              match: { from: ingest }
              filter: { from: match, command: [filter] }
              coalesce: { from: filter, window: 0s }
            """, to: "pipeline.yaml")
        let tree = try logs.tree("b", place: file)
        #expect(tree.contains("   └─ filter:1  "))
        #expect(tree.contains("      └─ notifications:1  "))
        #expect(try logs.tree("a", place: file).hasSuffix("   └─ not passed on by filter"))
    }

    @Test func `a notification that a plugin holds back is not traced as dropped`() throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a"), TestEvents.change("b")])
            .write("matches", [TestEvents.match(1, "_a", "s"), TestEvents.match(2, "_a", "s")], from: "changes")
            .write(
                "merge", [TestEvents.coalesced(match: 1, change: 1, by: 2, change: 2, "_a", "s")], from: "matches",
                cursors: [2])
        let file = try logs.folder.write(
            """
            pipeline: merged
            data: .
            stages:
              ingest: {}
              match: { from: ingest }
              merge: { from: match, command: [merge] }
            """, to: "pipeline.yaml")
        #expect(try logs.tree("a", place: file).hasSuffix("└─ nothing in merge yet"))
    }
}
