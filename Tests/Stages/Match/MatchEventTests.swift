import Foundation
import Testing

@testable import Match

struct MatchEventTests {
    @Test func `a match has the user, the record's name and type, and the fields that notificationInfo names`() throws {
        var feed = try Feed()
        let info =
            #"{"alertLocalizationArgs":["who"],"desiredKeys":["title","gone","who"],"additionalFields":["n"],"x":1}"#
        _ = try feed.send(Line.save(Line.query(more: #","zoneWide":true,"notificationInfo":\#(info)"#), id: "feed"))
        let out = try feed.send(
            """
            {"type":"record.save",\(Line.place),"database":"private","owner":"_a","origin":{"user":"_b","device":"d"},\
            "record":{"recordName":"n\\"1","recordType":"Note","zoneID":{"zoneName":"Z","ownerRecordName":"_o"},\
            "fields":{"n":{"value":[1, 2]},"title":{"value":"Hi","type":"STRING"},"other":{"value":1},"who":{"value":"B"}}},\
            "change":"update"}
            """)
        let id = Feed.upstream.uuid(position: 2)
        #expect(
            out == [
                """
                {"type":"match","change":2,"notificationID":"\(id)","container":"iCloud.c","environment":"development",\
                "database":"private","user":"_a","subscriptionID":"feed","subscriptionType":"query","reason":"update",\
                "recordName":"n\\"1","recordType":"Note","zoneID":{"zoneName":"Z","ownerRecordName":"_o"},\
                "origin":{"user":"_b","device":"d"},"fields":{"who":{"value":"B"},\
                "title":{"value":"Hi","type":"STRING"},"n":{"value":[1, 2]}},"notificationInfo":\(info)}
                """
            ])
    }

    @Test func `a delete is matched by the record's last fields; its match has only fields for localization`() throws {
        var feed = try Feed()
        let info = #","notificationInfo":{"desiredKeys":["b"],"titleLocalizationArgs":["a"]}"#
        _ = try feed.send(Line.save(Line.query(#""predicate":"a == 1""#, more: info)))
        let out = try feed.send(Line.change("delete", fields: #"{"a":{"value":1},"b":{"value":2}}"#))
        #expect(out.count == 1)
        #expect(out[0].contains(#""reason":"delete","recordName":"n1","recordType":"Note","#))
        #expect(out[0].contains(#""fields":{"a":{"value":1}},"#))
        #expect(try feed.watchers(Line.change("delete", fields: #"{"a":{"value":2}}"#)) == [])
    }

    @Test func `a match has a default zone and owner, but omits other missing members`() throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(Line.query(), database: "public"))
        let out = try feed.send(Line.change(database: "public", owner: nil))
        #expect(
            out[0].hasSuffix(
                """
                "subscriptionType":"query","reason":"create","recordName":"n1","recordType":"Note",\
                "zoneID":{"zoneName":"_defaultZone","ownerRecordName":"_defaultOwner"}}
                """))
    }

    @Test func `a zone subscription with zoneWide is of type database, and private zones belong to the user`() throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(#""subscriptionType":"zone","zoneWide":true"#))
        let wide = try feed.send(Line.change(zone: "Z"))
        #expect(wide[0].contains(#""subscriptionType":"database""#))
        #expect(wide[0].hasSuffix(#""zoneID":{"zoneName":"Z","ownerRecordName":"_a"}}"#))
    }

    @Test(arguments: [
        "container", "environment", "database", "owner", "record", "recordName", "recordType", "zoneID", "zoneName",
        "fields", "before", "change", "origin",
    ])
    func `a key with escapes is read like the same key without escapes`(_ key: String) throws {
        func output(_ escape: (String) -> String) throws -> [String] {
            var feed = try Feed()
            _ = try feed.send(Line.save(Line.query(#""predicate":"a == 1""#, more: #","zoneWide":true"#)))
            let line = """
                {"type":"record.save",\(Line.place),"database":"private","owner":"_a","origin":{"user":"_b"},\
                "record":{"recordName":"n1","recordType":"Note","zoneID":{"zoneName":"Z","ownerRecordName":"_a"},\
                "fields":{"a":{"value":1}}},"before":{"a":{"value":2}},"change":"update"}
                """
            return try feed.send(escape(line))
        }
        let escaped = String(format: "\\u%04x", Int(key.utf8.first ?? 0)) + key.dropFirst()
        let plain = try output { $0 }
        #expect(plain.count == 1)
        #expect(try output { $0.replacing("\"\(key)\":", with: "\"\(escaped)\":") } == plain)
    }

    @Test func `matches of a change share the notification ID and come in the order of subscription saves`() throws {
        var feed = try Feed()
        for (id, user) in [("b", "_z"), ("c", "_a"), ("a", "_m"), ("b", "_a")] {
            _ = try feed.send(Line.save(Line.query(), id: id, database: "public", user: user))
        }
        let change = Line.change(database: "public", owner: nil)
        #expect(try feed.watchers(change) == ["b", "c", "a", "b"])
        _ = try feed.send(Line.save(Line.query(), id: "c", database: "public", user: "_a"))
        #expect(try feed.watchers(change) == ["b", "a", "b", "c"])
        let id = Feed.upstream.uuid(position: 8).description
        #expect(try feed.send(change).allSatisfy { $0.contains(id) })
    }

    @Test func `a record whose list has two matching values matches a subscription once`() throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(Line.query(#""predicate":"ANY tags IN {'a','b'}""#)))
        #expect(try feed.watchers(Line.change(fields: #"{"tags":{"value":["a","b","a"]}}"#)) == ["s"])
    }

    @Test func `device events, and events of unknown or no type, pass the match stage unchanged`() throws {
        var feed = try Feed()
        let lines = [
            #"{"type":"device.register", "x":1}"#, #"{"type":"device.unregister"}"#, #"{"type":"else"}"#, "{}",
        ]
        for line in lines { #expect(try feed.send(line) == [line]) }
    }
}

struct UnmatchedTests {
    @Test func `the range of a not_matched event ends at the latest at the next multiple of a thousand`() throws {
        var feed = try Feed()
        _ = try feed.send(#"{"type":"else"}"#)
        _ = try feed.send(Line.change())
        #expect(try feed.send(Line.change(), skipping: 996) == [])
        let last = try feed.send(Line.change())
        #expect(last == [#"{"type":"not_matched","first":1,"last":1000,"count":3}"#])
        #expect(feed.deadline == nil)
        #expect(try feed.send(#"{"type":"else"}"#, skipping: 999).count == 1)
        _ = try feed.send(Line.change())
        let late = try feed.send(#"{"type":"else"}"#, skipping: 1500)
        #expect(late == [#"{"type":"not_matched","first":2001,"last":3000,"count":1}"#, #"{"type":"else"}"#])
        _ = try feed.send(Line.change())
        #expect(try feed.send(Line.change(), skipping: 400) == [])
        // This range ends earlier, a second after its first unmatched change.
        #expect(feed.advance(to: 1_000_000) == [#"{"type":"not_matched","first":3001,"last":3904,"count":2}"#])
    }

    @Test func `the range of a not_matched event ends at most a second after its first unmatched change`() throws {
        var feed = try Feed()
        _ = try feed.send(Line.save(Line.query()))
        #expect(feed.deadline == nil)
        _ = try feed.send(Line.change(type: "Else"), at: 5_000_000)
        _ = try feed.send(Line.change(type: "Else"), at: 5_900_000)
        _ = try feed.send(Line.change(), at: 5_900_000)
        #expect(feed.advance(to: 5_999_999) == [])
        let woken = try feed.send(Line.change(type: "Else"), at: 6_000_000)
        #expect(woken == [#"{"type":"not_matched","first":1,"last":4,"count":2}"#])
        #expect(feed.advance(to: 9_000_000) == [#"{"type":"not_matched","first":5,"last":5,"count":1}"#])
        #expect(feed.deadline == nil)
    }
}
