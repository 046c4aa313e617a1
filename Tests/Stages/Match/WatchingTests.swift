import TestSupport
import Testing

@testable import Match

struct WatchingTests {
    /// Whether a saved subscription watches a change.
    private func watches(_ save: String, _ change: String) throws -> Bool {
        var feed = try Feed()
        _ = try feed.send(save)
        #expect(feed.rejections == [])
        return try !feed.watchers(change).isEmpty
    }

    @Test func `a subscription watches its user's private or shared database, or the public database`() throws {
        #expect(try watches(Line.save(Line.query()), Line.change()))
        #expect(try !watches(Line.save(Line.query()), Line.change(owner: "_b")))
        #expect(try !watches(Line.save(Line.query()), Line.change(database: "shared")))
        #expect(try !watches(Line.save(Line.query()), Line.change(database: "public", owner: nil)))
        #expect(try watches(Line.save(Line.query(), database: "shared"), Line.change(database: "shared")))
        let everybody = Line.save(Line.query(), database: "public")
        #expect(try watches(everybody, Line.change(database: "public", owner: nil)))
        #expect(try watches(everybody, Line.change(database: "public", owner: "_b")))
    }

    @Test func `a subscription watches only changes in its own container and environment`() throws {
        let save = Line.save(Line.query())
        let container = #""container":"iCloud.d","environment":"development""#
        let environment = #""container":"iCloud.c","environment":"production""#
        #expect(try !watches(save, Line.change(place: container)))
        #expect(try !watches(save, Line.change(place: environment)))
        #expect(try watches(Line.save(Line.query(), place: environment), Line.change(place: environment)))
    }

    @Test(
        arguments: [
            ("", nil, true), ("", "Z", false), (#","zoneID":{"zoneName":"Z"}"#, "Z", true),
            (#","zoneID":{"zoneName":"Z"}"#, "Y", false), (#","zoneID":{"zoneName":"Z"}"#, nil, false),
            (#","zoneWide":true"#, "Z", true), (#","zoneWide":true"#, nil, true), ("", "_defaultZone", true),
        ] as [(String, String?, Bool)])
    func `a query watches the default zone, one other zone or all zones`(
        _ more: String, _ zone: String?, _ watched: Bool
    ) throws {
        #expect(try watches(Line.save(Line.query(more: more)), Line.change(zone: zone)) == watched)
    }

    @Test(
        arguments: [
            (#""subscriptionType":"zone","zoneID":{"zoneName":"Z"}"#, "Z", true),
            (#""subscriptionType":"zone","zoneID":{"zoneName":"Z"}"#, "Y", false),
            (#""subscriptionType":"zone","zoneID":{"zoneName":"Z"}"#, nil, false),
            (#""subscriptionType":"zone","zoneID":{"zoneName":"Z"},"recordType":"Note""#, "Z", true),
            (#""subscriptionType":"zone","zoneID":{"zoneName":"Z"},"recordType":"Else""#, "Z", false),
            (#""subscriptionType":"database""#, "Z", true), (#""subscriptionType":"database""#, nil, false),
            (#""subscriptionType":"database""#, "_defaultZone", false),
            (#""subscriptionType":"database","recordType":"Else""#, "Z", false),
            (#""subscriptionType":"zone","zoneWide":true"#, "Z", true),
            (#""subscriptionType":"zone","zoneWide":true"#, nil, false),
        ] as [(String, String?, Bool)])
    func `zone and database subscriptions watch changes of all record types or of one type in their zones`(
        _ body: String, _ zone: String?, _ watched: Bool
    ) throws {
        for change in ["create", "update", "delete"] {
            #expect(try watches(Line.save(body), Line.change(change, zone: zone)) == watched)
        }
    }

    /// In a shared database, ingest accepts zone and query subscriptions only with the setting
    /// `subscriptionsInAnyDatabase`.
    @Test(arguments: [
        #""subscriptionType":"zone","zoneID":{"zoneName":"Z"%}"#, Line.query(more: #","zoneID":{"zoneName":"Z"%}"#),
    ])
    func `owners distinguish zones with the same name in a shared database`(_ body: String) throws {
        func save(_ owner: String) -> String {
            Line.save(body.replacing("%", with: owner), database: "shared")
        }
        func change(_ owner: String) -> String {
            Line.change(database: "shared", zone: "Z").replacing(#""zoneName":"Z""#, with: #""zoneName":"Z"\#(owner)"#)
        }
        let (one, other) = (#","ownerRecordName":"_x""#, #","ownerName":"_y""#)
        #expect(try watches(save(one), change(one)))
        #expect(try !watches(save(one), change(other)))
        #expect(try watches(save(""), change(other)))
        #expect(try watches(save(one), change("")))
        var feed = try Feed()
        _ = try feed.send(save(one))
        #expect(try feed.codes(change(other)).contains(.zoneDiffers))
        #expect(try feed.codes(change(one)).contains(.zoneSame))
        // The stage has a deadline because it has counted a change that no subscription watched.
        #expect(try feed.send(change(other)).isEmpty && feed.deadline != nil)
    }

    @Test func `a delete without a record type matches only subscriptions that watch all types`() throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(Line.query(more: #","zoneWide":true"#), id: "query"))
        _ = try feed.send(Line.save(#""subscriptionType":"database""#, id: "all"))
        _ = try feed.send(Line.save(#""subscriptionType":"database","recordType":"Note""#, id: "narrow"))
        let delete = """
            {"type":"record.delete",\(Line.place),"database":"private","owner":"_a",\
            "record":{"recordName":"n","zoneID":{"zoneName":"Z"}}%}
            """
        #expect(try feed.watchers(delete.replacing("%", with: "")) == ["all"])
        #expect(try feed.watchers(delete.replacing("%", with: #","recordType":"Note""#)) == ["query", "all", "narrow"])
    }

    @Test func `firesOn selects the kinds of changes`() throws {
        for on in ["create", "update", "delete"] {
            for change in ["create", "update", "delete"] {
                let save = Line.save(Line.query(firesOn: #"["\#(on)"]"#))
                #expect(try watches(save, Line.change(change)) == (on == change))
            }
        }
    }

    @Test func `firesOnce deletes a subscription after its first match`() throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(Line.query(#""predicate":"a == 1""#, more: #","firesOnce":true"#), id: "once"))
        _ = try feed.send(Line.save(Line.query(), id: "always"))
        #expect(try feed.watchers(Line.change()) == ["always"])
        #expect(try feed.watchers(Line.change(fields: #"{"a":{"value":1}}"#)) == ["once", "always"])
        #expect(try feed.watchers(Line.change(fields: #"{"a":{"value":1}}"#)) == ["always"])
    }

    @Test func `saving replaces only the subscription with the same identity, and deleting removes it`() throws {
        var feed = try Feed()
        let change = Line.change(fields: #"{"a":{"value":1}}"#)
        #expect(try feed.watchers(change) == [])
        _ = try feed.send(Line.save(Line.query(#""predicate":"a == 1""#)))
        #expect(try feed.watchers(change) == ["s"])
        _ = try feed.send(Line.save(Line.query(#""predicate":"a == 2""#), user: "_b"))
        _ = try feed.send(Line.save(Line.query(#""predicate":"a == 2""#), database: "public"))
        #expect(try feed.watchers(change) == ["s"])
        _ = try feed.send(Line.save(Line.query(#""predicate":"a == 2""#)))
        #expect(try feed.watchers(change) == [])
        #expect(try feed.watchers(Line.change(fields: #"{"a":{"value":2}}"#)) == ["s"])
        _ = try feed.send(Line.remove())
        _ = try feed.send(Line.remove())
        #expect(try feed.watchers(Line.change(fields: #"{"a":{"value":2}}"#)) == [])
        #expect(feed.rejections == [])
    }

    @Test(
        arguments: [
            (#""predicate":"recordID == 'n1'""#, true), (#""predicate":"recordID == 'n2'""#, false),
            (#""predicate":"recordID != 'n2' AND a == 1""#, true),
            (#""predicate":"self CONTAINS %@","arguments":["Cat"]"#, true),
            (#""predicate":"a == 1 AND self CONTAINS 'dog'""#, false),
            (#""predicate":"a == 2 OR title BEGINSWITH 'A cat'""#, true),
            (#""predicate":"a == 1 AND (a == 2 OR a == 3)""#, false),
            (#""predicate":"distanceToLocation:fromLocation:(p, location(1, 2)) < 200000""#, true),
            (#""predicate":"p != nil AND recordChangeTag != nil""#, false),
            (#""filterBy":[{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":"n1"}}]"#, true),
            (#""filterBy":[{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"cat dog"}}]"#, false),
        ])
    func `a predicate can use words, system fields, distances and OR`(_ query: String, _ isWatched: Bool) throws {
        let fields = #"{"a":{"value":1},"title":{"value":"A cat"},"p":{"value":{"latitude":1,"longitude":3}}}"#
        for change in [Line.change(fields: fields), Line.change("delete", fields: fields)] {
            let save = Line.save(Line.query(query, firesOn: #"["create","delete"]"#))
            #expect(try watches(save, change) == isWatched)
        }
    }

    @Test func `a predicate can compare the creator and the creation date of a record`() throws {
        let save = Line.save(Line.query(#""predicate":"creatorUserRecordID == '_x' AND creationDate > 5""#))
        func change(_ created: String) -> String {
            Line.change(fields: "{}").replacing(#""fields":{}"#, with: #""created":\#(created),"fields":{}"#)
        }
        #expect(try watches(save, change(#"{"timestamp":6,"userRecordName":"_x"}"#)))
        #expect(try !watches(save, change(#"{"timestamp":5,"userRecordName":"_x"}"#)))
        #expect(try !watches(save, change(#"{"timestamp":6,"userRecordName":"_y"}"#)))
        #expect(try !watches(save, change(#"{"timestamp":6}"#)))
    }

    @Test(
        arguments: [
            (#""predicate":"creatorUserRecordID == '_x'""#, [true, false, false]),
            (#""predicate":"creationDate == 7""#, [true, false, false]),
            (#""predicate":"lastModifiedUserRecordID == '_x'""#, [true, true, false]),
            (#""predicate":"modificationDate == 7""#, [true, true, false]),
            (
                #""filterBy":[{"comparator":"NOT_EQUALS","systemFieldName":"modifiedUserRecordName","#
                    + #""fieldValue":{"value":"_y"}}]"#, [true, true, false]
            ),
        ])
    func `if a record does not say by whom and when it was saved, the event's origin and time count`(
        _ query: String, _ isWatched: [Bool]
    ) throws {
        for (change, isWatched) in zip(["create", "update", "delete"], isWatched) {
            // Without an origin, the owner of the database has made the change.
            for origin in [#""origin":{"user":"_x"},"#, ""] {
                var feed = try Feed()
                _ = try feed.send(Line.save(Line.query(query), user: "_x"))
                let line = Line.change(change, owner: "_x").replacing(#""record":"#, with: #"\#(origin)"record":"#)
                let events = try feed.send(line, at: 7_500)
                #expect(events.contains { $0.hasPrefix(#"{"type":"match""#) } == isWatched, "\(change) \(origin)")
            }
        }
    }

    @Test func `a FALSEPREDICATE and an empty IN watch nothing`() throws {
        #expect(try !watches(Line.save(Line.query(#""predicate":"FALSEPREDICATE""#)), Line.change()))
        let fields = #"{"a":{"value":1}}"#
        #expect(try !watches(Line.save(Line.query(#""predicate":"a IN {}""#)), Line.change(fields: fields)))
        #expect(try watches(Line.save(Line.query(#""predicate":"NOT a IN {}""#)), Line.change(fields: fields)))
    }
}

struct RejectionTests {
    @Test(arguments: [
        (#"{"type":"record.save"}"#, "field.missing record"),
        (#"{"type":"record.save","record":7}"#, "field.invalid record"),
        (#"{"type":"record.save","record":{}}"#, "field.missing change"),
        (Line.change("replace"), "field.invalid change"),
        (Line.change(owner: nil), "field.missing owner"), (Line.change(database: "other"), "field.invalid database"),
        (Line.change(type: ""), "field.invalid record.recordType"),
        (Line.change(zone: ""), "field.invalid record.zoneID.zoneName"),
        (#"{"type":"record.delete"}"#, "field.missing record"),
        (#"{"type":"subscription.delete"}"#, "field.missing container"),
        (Line.remove(id: ""), "field.invalid subscriptionID"),
        (#"{"type":"subscription.save"}"#, "field.missing subscription"),
        (Line.save(#""subscriptionType":"other""#), "field.invalid subscription.subscriptionType"),
        (Line.save(#""subscriptionType":"query""#), "field.missing subscription.query"),
        (Line.save(Line.query(firesOn: "[]")), "field.invalid subscription.firesOn"),
        (Line.save(Line.query(firesOn: "null")), "field.missing subscription.firesOn"),
        (Line.save(Line.query(firesOn: #"["save"]"#)), "field.invalid subscription.firesOn"),
        (Line.save(Line.query(more: #","firesOnce":1"#)), "field.invalid subscription.firesOnce"),
        (Line.save(Line.query(#""filterBy":[7]"#)), "predicate.type subscription.query.filterBy[0]"),
        (Line.save(Line.query(#""predicate":"a OR b""#)), "predicate.syntax subscription.query.predicate"),
        (Line.save(Line.query(#""predicate":"a==1","filterBy":[]"#)), "field.invalid subscription.query.predicate"),
        (Line.save(Line.query(more: #","notificationInfo":[]"#)), "field.invalid subscription.notificationInfo"),
        (
            Line.save(Line.query(more: #","notificationInfo":{"desiredKeys":[1]}"#)),
            "field.invalid subscription.notificationInfo.desiredKeys"
        ),
        (Line.save(#""subscriptionType":"zone","zoneID":{}"#), "field.missing subscription.zoneID.zoneName"),
    ])
    func `an invalid event becomes a dead letter and changes nothing`(_ line: String, _ rejection: String) throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(Line.query()))
        #expect(try feed.send(line) == [])
        #expect(feed.rejections == [rejection])
        #expect(feed.deadline == nil)
        #expect(try feed.watchers(Line.change()) == ["s"])
    }

    @Test(arguments: [UInt64(1), 2])
    func `damaged lines neither crash the stage nor stop it`(seed: UInt64) throws {
        var random = Seeded(seed)
        var feed = try Feed()
        let lines = [
            Line.save(Line.query(#""predicate":"a == 1 AND b IN {1,2}""#, more: #","firesOnce":true"#)), Line.remove(),
            Line.change(zone: "Z", fields: #"{"a":{"value":1},"b":{"value":[1,2]}}"#), Line.change("delete"),
            Line.save(#""subscriptionType":"zone","zoneID":{"zoneName":"Z"}"#),
        ]
        let pieces = ["null", "[]", "{}", "1", "\"\"", "\"a\"", "true", "[[]]", "{\"value\":{}}"]
        for _ in 0..<3000 {
            var damaged = lines.randomElement(using: &random) ?? ""
            let starts = damaged.ranges(of: ":").map(\.upperBound)
            let start = starts.randomElement(using: &random) ?? damaged.endIndex
            let end = damaged[start...].firstIndex { ",}]".contains($0) } ?? damaged.endIndex
            damaged.replaceSubrange(start..<end, with: pieces.randomElement(using: &random) ?? "")
            do { _ = try feed.send(damaged) } catch { continue }
        }
        #expect(try feed.send(#"{"type":"else"}"#).last == #"{"type":"else"}"#, "seed \(seed)")
    }
}
