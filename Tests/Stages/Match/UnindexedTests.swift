import Testing

@testable import Match

struct UnindexedTests {
    private static func stage(_ lines: [String]) throws -> MatchStage {
        var feed = try Feed()
        for line in lines { _ = try feed.send(line) }
        return feed.stage
    }

    private static func save(_ predicate: String, id: String = "s", user: String = "_a") -> String {
        let query = Line.query(predicate.isEmpty ? "" : #""predicate":"\#(predicate)""#)
        return Line.save(query, id: id, database: "public", user: user)
    }

    @Test(arguments: [
        ("state != 'done'", ["it only excludes values of state"], ["state IN {…}"]),
        (
            "NOT n IN {1, 2} AND photo != nil", ["it only excludes values of n", "any value of photo"],
            ["n IN {…}", "has_photo"]
        ),
        ("NOT tags CONTAINS 'x'", ["it only excludes values of tags"], []),
        ("a == 1 OR b != 2", ["either side of OR"], ["for each side of OR"]),
    ])
    func `each part that the index cannot use is reported, with the reason and, if there is one, an alternative`(
        predicate: String, reasons: [String], instead: [String]
    ) throws {
        let found = try Self.stage([Self.save(predicate)]).unindexed
        let subscriptions = try #require(found.first)
        #expect(found.count == 1 && subscriptions.evaluatedPerChange == 1 && subscriptions.group.first.savedAt == 1)
        #expect(subscriptions.parts.count == reasons.count)
        for (part, reason) in zip(subscriptions.parts, reasons) { #expect(part.reason.contains(reason), "\(part)") }
        let ways = subscriptions.parts.compactMap(\.instead).joined(separator: "; ")
        for way in instead { #expect(ways.contains(way), "\(ways)") }
        #expect(instead.isEmpty == ways.isEmpty)
    }

    @Test(arguments: [
        "", "FALSEPREDICATE", "n > 3 AND n < 2", "n == 1", "n > 1", "t BEGINSWITH 'x'", "a == 1 OR b > 2",
        "n != 1 AND m IN {1, 2}", "tags CONTAINS 'x'", "ANY tags IN {'x'}", "n IN {}",
        "(a != 1 OR b == 2) AND c == 3", "ALL stars > 3", "ALL stars IN {1, 2}", "ALL tags BEGINSWITH 'x'",
    ])
    func `an indexed, impossible or empty predicate is not reported as unindexed`(
        predicate: String
    ) throws {
        let zone = Line.save(#""subscriptionType":"zone","zoneID":{"zoneName":"Y"}"#, id: "z")
        let stage = try Self.stage([Self.save(predicate), zone])
        #expect(stage.unindexed.isEmpty)
        #expect(stage.subscriptionCount == 2)
    }

    @Test func `the most expensive groups of unindexed subscriptions come first; deleted ones are omitted`() throws {
        let stage = try Self.stage([
            Line.save(Line.query(#""predicate":"m != 1""#), id: "own"), Self.save("n != 1", id: "one"),
            Self.save("n != 2", id: "gone"), Self.save("NOT n IN {3, 4}", id: "two", user: "_b"),
            Self.save("n == 3", id: "found"),
            Line.remove(id: "gone", database: "public"),
        ])
        #expect(stage.unindexed.map(\.group.first.subscriptionID) == ["one", "two", "own"])
        #expect(stage.unindexed.map(\.evaluatedPerChange) == [2, 2, 1])
        let two = stage.unindexed[1].group.first
        #expect(
            [two.user, two.database, two.recordType, two.predicate] == ["_b", "public", "Note", "NOT n IN {3, 4}"])
    }

    @Test func `unindexed subscriptions of one shape form a group across users`() throws {
        var lines = (0..<120).map { Self.save("state != 'x\($0)'", id: "s\($0)", user: "_u\($0 % 7)") }
        lines += (0..<5).map { Line.save(Line.query(#""predicate":"n != 1""#), id: "p\($0 / 3)", user: "_u\($0 % 3)") }
        lines.append(Self.save("state != 'x1'", id: "other").replacing("Note", with: "Task"))
        let found = try Self.stage(lines).unindexed
        #expect(found.map(\.group.count) == [120, 5, 1] && found.map(\.evaluatedPerChange) == [120, 2, 1])
        #expect(found.map { $0.parts.map(\.text) } == [["state != …"], ["n != 1"], ["state != 'x1'"]])
        #expect(found[0].group.listed.map(\.subscriptionID) == (0..<QueryGroup.listedMax).map { "s\($0)" })
        #expect(found[1].group.listed.map(\.user) == ["_u0", "_u1", "_u2", "_u0", "_u1"])
    }

    @Test func `a predicate that can never be true is reported, with the reason`() throws {
        let stage = try Self.stage([
            Self.save("n > 3 AND n < 2", id: "empty"), Self.save("n > 1", id: "some"),
            Self.save("FALSEPREDICATE", id: "never"), Self.save("n > 5 AND n < 1", id: "too"),
            Self.save("a == 1 OR b == 1 AND b == 2", id: "one side"),
            Self.save("ALL t > 2 AND ALL t < 1", id: "empty list"),
        ])
        #expect(stage.neverTrue.map { $0.group.listed.map(\.subscriptionID) } == [["empty", "too"], ["never"]])
        #expect(stage.neverTrue.allSatisfy { $0.reason.hasPrefix("the predicate can never be true: ") })
    }
}
