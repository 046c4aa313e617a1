import Ingest
import PipelineKit
import TestSupport
import Testing

/// The answers to accepted subscriptions.
struct SubscriptionAnswerTests {
    private static func save(
        _ id: String = "s", query: String = #"{"recordType":"Note"}"#, user: String = "_alice",
        database: String = "private"
    ) -> String {
        Example.subscribe(
            #"{"subscriptionID":"\#(id)","subscriptionType":"query","firesOn":["create"],"query":\#(query)}"#,
            database: database
        ).replacing("_alice", with: user)
    }

    private static func delete(_ id: String = "s", database: String = "private", user: String = "_alice") -> String {
        #"{"type":"subscription.delete",\#(Example.place),"database":"\#(database)","user":"\#(user)","subscriptionID":"\#(id)"}"#
    }

    @Test func `a saved subscription is reported with its ID; other commands report no subscription`() throws {
        var door = try Door()
        try door.send(Self.save("feed"))
        #expect(door.saved == SavedSubscription(subscriptionID: "feed"))
        for command in [Example.save(), Example.delete(), Example.register(), Self.delete("feed"), "{}"] {
            try door.send(command)
            #expect(door.saved == nil)
        }
    }

    @Test func `a predicate that can never be true is accepted with a warning and its position`() throws {
        var door = try Door()
        #expect(try door.send(Self.save(query: #"{"recordType":"Note","predicate":"a > 3 AND a < 2"}"#)) == nil)
        #expect(
            door.saved?.warnings == [
                SavedSubscription.Warning(
                    code: "predicate.never", path: "subscription.query.predicate", offset: 10,
                    reason: "the predicate can never be true: a would have to be in an empty range (at byte 10 of the "
                        + "predicate)\na > 3 AND a < 2\n          ^")
            ])
        let filter = #"{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1}}"#
        let never = "[\(filter),\(filter.replacing("1", with: "2"))]"
        try door.send(Self.save(query: #"{"recordType":"Note","filterBy":\#(never)}"#))
        let warning = try #require(door.saved?.warnings.first)
        #expect(warning.code == "predicate.never" && warning.path == "subscription.query.filterBy[1]")
        #expect(warning.offset == nil && !warning.reason.contains("\n"))
        #expect(door.log.count == 2, "a warning is not stored")
        #expect(!door.log[0].contains("warning"))
    }

    // MARK: One ID, one subscription

    @Test func `a subscription saved in another database leaves the first database`() throws {
        var door = try Door()
        try door.send(Self.save())
        #expect(door.saved?.warnings == [])
        try door.send(Self.save(database: "public"))
        #expect(door.saved?.warnings.map(\.code) == ["subscription.moved"])
        let reason = door.saved?.warnings.first?.reason ?? ""
        #expect(reason.hasPrefix(#"the user already had a subscription "s" in the private database; "#), "\(reason)")
        #expect(door.log == [Self.save(), Self.delete(), Self.save(database: "public")])
    }

    /// Only match knows whether a subscription has fired, so the warning must be true in both cases.
    @Test func `the warning about a subscription that fires once says that it may be gone`() throws {
        let once = Self.save().replacing(#""firesOn":"#, with: #""firesOnce":true,"firesOn":"#)
        func reason(_ commands: [String]) throws -> String {
            var door = try Door()
            for command in commands { try door.send(command) }
            return try #require(door.saved?.warnings.first).reason
        }
        let moved = Self.save(database: "public")
        #expect(try reason([once, moved]).contains("where it fires once and may be gone already"))
        #expect(try !reason([once, Self.save(), moved]).contains("once"))
        #expect(try !reason([once, Self.delete(), Self.save(), moved]).contains("once"))
        var recalled = try Door(recalling: [Self.save(), once])
        try recalled.send(moved)
        #expect(recalled.saved?.warnings.first?.reason.contains("fires once") == true)
        var again = try Door(recalling: [once, Self.save()])
        try again.send(moved)
        #expect(again.saved?.warnings.first?.reason.contains("fires once") == false)
    }

    @Test(arguments: [
        [save(), save()], [save(), save("t", database: "public")], [save(), save(user: "_bob", database: "public")],
        [save(), delete(), save(database: "public")],
        [save(), save(database: "public").replacing("example", with: "else")],
        [save(), save(database: "public").replacing("development", with: "production")],
        [save(database: "public"), delete(), save(database: "public")],
    ])
    func `a save that moves no subscription to another database gives no warning`(commands: [String]) throws {
        var door = try Door()
        for command in commands {
            #expect(try door.send(command) == nil)
            #expect(door.saved?.warnings ?? [] == [])
        }
        #expect(door.log == commands)
    }

    /// Earlier versions allowed an ID in several databases.
    @Test func `if a log has one ID in two databases, saving the ID in the third deletes both subscriptions`() throws {
        let log = [Self.save(), Self.save(database: "public")]
        var door = try Door(recalling: log)
        let shared = Example.subscribe(#"{"subscriptionID":"s","subscriptionType":"database"}"#, database: "shared")
        try door.send(shared)
        #expect(door.log == log + [Self.delete(database: "public"), Self.delete(), shared])
    }

    @Test(arguments: Seeded.seeds)
    func `a log or a snapshot restores the IDs after a restart`(seed: UInt64) throws {
        var draw = Seeded(seed)
        var (door, recalled) = (try Door(), try Door())
        func fresh() throws -> IngestStage { try Door().stage }
        var arrivals: [StageRun<IngestStage>.Arrival] = []
        for _ in 0..<200 {
            let (id, database) = ("s\(draw.below(5))", draw.one(of: ["private", "public"]))
            let save = Self.save(id, database: database)
            let once = save.replacing(#""firesOn":"#, with: #""firesOnce":true,"firesOn":"#)
            let command = draw.isOneIn(3) ? Self.delete(id, database: database) : draw.isOneIn(3) ? once : save
            try door.send(command)
            try recalled.send(command)
            #expect(door.saved == recalled.saved, "seed \(seed)")
            arrivals.append(.init(command))
            if draw.isOneIn(8) { recalled = try Door(recalling: recalled.log) }
        }
        #expect(door.log == recalled.log, "seed \(seed)")
        #expect(door.log.count > 220, "seed \(seed)")
        let (uninterrupted, restored) = try StageRun<IngestStage>.split(arrivals, at: 100, fresh: fresh)
        #expect(uninterrupted.difference(from: restored) == nil, "seed \(seed)")
    }
}
