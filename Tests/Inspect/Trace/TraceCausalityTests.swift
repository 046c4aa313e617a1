import Testing

@testable import Inspect

/// Traces of logs written by hand, for cases that short runs do not have.
@Suite struct TraceCausalityTests {
    private static let device = #"{"type":"device.register","user":"_a","device":"phone","transport":"apns"}"#

    private func types(_ logs: TracedLogs, _ id: String) throws -> [String] {
        try logs.tree(id).split(separator: "\n").map { line in
            let words = line.drop { " └├─│".contains($0) }.split(separator: " ")
            return "\(line.prefix { " └├─│".contains($0) }.count / 3) \(words[0])"
        }
    }

    @Test func `an event that a stage refused ends as a dead letter`() throws {
        let logs = try TracedLogs().write("changes", [Written.change("a"), Written.change("b")])
            .write("matches", [#"{"type":"not_matched","first":1,"last":2,"count":1}"#], from: "changes")
            .write("matches.dead-letters", [Written.letter("match", "changes", 2)])
        #expect(
            try logs.tree("b") == """
                changes:2  2026-01-01T00:00:02Z  record.save  create Note b ◀
                └─ matches.dead-letters:1  2026-01-01T00:00:01Z  -1 s  dead_letter  by match: field.type user must be a text
                """)
        #expect(try types(logs, "matches.dead-letters:1") == ["0 changes:2", "1 matches.dead-letters:1"])
        #expect(try types(logs, "a") == ["0 changes:1", "1 matches:1"])
    }

    @Test func `the trace of a redriven push shows the redrive, and a redrive of the redrive`() throws {
        func redrive(_ push: Int) -> String {
            #"{"type":"push.redrive","user":"_a","device":"mac","redriveOf":{"log":"pushes","sequence":\#(push)},"push":{}}"#
        }
        let (first, second, lost) = (redrive(1), redrive(2), redrive(3))
        let logs = try TracedLogs().write("changes", [Written.change("a"), first, second, lost])
            .write("matches", [Written.match(1, "_a", "s"), first, second, lost], from: "changes")
            .write("notifications", [Written.notification([1], "_a", "s"), first, second], from: "matches")
            .write("pushes", [Written.push([1], "_a", "s"), first, second], from: "notifications")
            .write(
                "outcomes", (1...3).map { Written.outcome($0, [1], "_a", "mac") }, from: "pushes")
        let tree = [
            "0 changes:1", "1 matches:1", "2 notifications:1", "3 pushes:1", "4 outcomes:1", "4 pushes:2",
            "5 outcomes:2", "5 pushes:3", "6 outcomes:3", "6 changes:4", "7 matches:4", "8 nothing",
        ]
        #expect(try types(logs, "a") == Array(tree.dropLast()))
        #expect(try logs.tree("a").contains("push.redrive  _a/mac of pushes:1"))
        #expect(
            try types(logs, "changes:2") == [
                "0 changes:2", "1 matches:2", "2 notifications:2", "3 pushes:2", "4 outcomes:2", "4 pushes:3",
                "5 outcomes:3", "5 changes:4", "6 matches:4",
            ])
        #expect(try types(logs, "3-mac").first == "0 changes:1")
    }

    @Test func `the trace of a held notification names the log that it has not reached yet`() throws {
        let logs = try TracedLogs().write("changes", [Written.change("a"), Written.change("b")])
            .write("matches", [Written.match(1, "_a", "s"), Written.match(2, "_a", "s")], from: "changes")
            .write("notifications", [Written.coalesced(1, 1, by: 2, 2, "_a", "s")], from: "matches", cursors: [2])
        #expect(
            try logs.tree("a").split(separator: "\n").suffix(1) == ["      └─ nothing in notifications yet"])
        #expect(try logs.tree("b").hasSuffix("   └─ nothing in notifications yet"))
        let json = TraceJSON.text(try logs.graph("b"), asked: "b", as: .record)
        #expect(json.contains(#""waitsFor":"notifications""#))
    }

    @Test func `the trace of a change has a branch for each of two subscriptions of one user`() throws {
        let logs = try TracedLogs().write("changes", [Written.change("a")])
            .write("matches", [Written.match(1, "_a", "s"), Written.match(1, "_a", "t")], from: "changes")
            .write("notifications", [Written.notification([1], "_a", "t"), Written.notification([1], "_a", "s")])
            .write("pushes", [Written.push([1], "_a", "t"), Written.push([1], "_a", "s")])
            .write("outcomes", [Written.outcome(2, [1], "_a", "mac"), Written.outcome(1, [1], "_a", "phone")])
        #expect(
            try types(logs, "1") == [
                "0 changes:1", "1 matches:1", "2 notifications:2", "3 pushes:2", "4 outcomes:1", "1 matches:2",
                "2 notifications:1", "3 pushes:1", "4 outcomes:2",
            ])
        #expect(
            try types(logs, "1-phone") == [
                "0 changes:1", "1 matches:2", "2 notifications:1", "3 pushes:1", "4 outcomes:2",
            ])
        #expect(try types(logs, "id-1").count == 9, "both notifications of the ID")
    }

    /// A user has two notifications for one change. The chain of replacements says which notification replaced
    /// a match.
    @Test func `the trace of a replaced match shows the chain of replacements`() throws {
        let logs = try TracedLogs().write("changes", ["a", "b", "c"].map(Written.change))
            .write(
                "matches",
                [(1, "s"), (1, "t"), (2, "s"), (2, "t"), (3, "s")].map { Written.match($0.0, "_a", $0.1) }
            )
            .write(
                "notifications",
                [
                    Written.coalesced(1, 1, by: 3, 2, "_a", "s"), Written.coalesced(2, 1, by: 4, 2, "_a", "t"),
                    Written.coalesced(3, 2, by: 5, 3, "_a", "s"), Written.notification([1, 2], "_a", "t"),
                    Written.notification([1, 2, 3], "_a", "s"),
                ])
        #expect(
            try types(logs, "1") == [
                "0 changes:1", "1 matches:1", "2 notifications:1", "3 notifications:5", "1 matches:2",
                "2 notifications:2", "3 notifications:4",
            ])
    }

    @Test func `the trace works without changes that retention removed`() throws {
        let logs = try TracedLogs().write("matches", [Written.match(7, "_a", "s")])
            .write("notifications", [Written.notification([7], "_a", "s")])
            .write("changes", [])
        #expect(try types(logs, "notifications:1") == ["0 matches:1", "1 notifications:1"])
    }

    @Test func `if many changes led to one event, only the newest are traced`() throws {
        let numbers = Array(1...80)
        let logs = try TracedLogs().write("changes", numbers.map { Written.change("r\($0)") })
            .write("matches", numbers.map { Written.match($0, "_a", "s") })
            .write(
                "notifications",
                numbers.dropLast().map { Written.coalesced($0, $0, by: $0 + 1, $0 + 1, "_a", "s") }
                    + [Written.notification(numbers, "_a", "s")])
        let graph = try logs.graph("notifications:80")
        #expect(graph.roots.count == 50 && graph.roots.first?.sequence == 31 && graph.changesLeftOut == 30)
        #expect(try logs.tree("notifications:80").hasPrefix("(30 earlier changes left out)\nchanges:31 "))
        #expect(try types(logs, "1").last == "3 notifications:80")
    }

    @Test func `a change with very many matches is traced for one user, or for the first matches`() throws {
        let users = (1...2_100).map { "_u\($0)" }
        let logs = try TracedLogs().write("changes", [Written.change("a")])
            .write("matches", users.map { Written.match(1, $0, "s") })
            .write("notifications", users.map { Written.notification([1], $0, "s") })
            .write("pushes", users.map { Written.push([1], $0, "s") })
            .write("outcomes", users.enumerated().map { Written.outcome($0.offset + 1, [1], $0.element, "phone") })
        #expect(
            try types(logs, "outcomes:2050") == [
                "0 changes:1", "1 matches:2050", "2 notifications:2050", "3 pushes:2050", "4 outcomes:2050",
            ])
        let opened = try logs.opened()
        let change = try #require(try opened.event(at: EventPlace(log: "changes", sequence: 1)))
        let effects = try Causality(opened).effects(of: change)
        #expect(effects.count == Causality.matchesMax)
    }

    @Test func `cursors distinguish registrations with the same content`() throws {
        let logs = try TracedLogs().write("changes", [Self.device, Self.device])
            .write("matches", [Self.device, Self.device], from: "changes")
            .write("notifications", [Self.device, Self.device], from: "matches")
        #expect(try types(logs, "1") == ["0 changes:1", "1 matches:1", "2 notifications:1"])
        #expect(try types(logs, "2") == ["0 changes:2", "1 matches:2", "2 notifications:2"])
        #expect(try types(logs, "notifications:2") == ["0 changes:2", "1 matches:2", "2 notifications:2"])
        #expect(try types(logs, "matches:1") == ["0 changes:1", "1 matches:1", "2 notifications:1"])
    }

    @Test func `a trace goes through a plugin between two stages`() throws {
        let logs = try TracedLogs().write("changes", [Written.change("a"), Written.change("b")])
            .write("matches", [Written.match(1, "_a", "s"), Written.match(2, "_a", "s")], from: "changes")
            .write("filter", [Written.match(2, "_a", "s")], from: "matches", cursors: [2])
            .write("notifications", [Written.notification([2], "_a", "s")], from: "filter")
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
}
