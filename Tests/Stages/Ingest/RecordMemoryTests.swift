import Ingest
import Testing

/// Ingest finds out whether a record command is a create, an update, or the delete of a known record.
struct RecordMemoryTests {
    private func changes(_ commands: [String]) throws -> [String] {
        var door = try Door()
        for command in commands { #expect(try door.send(command) == nil) }
        return door.log.map { line in
            ["create", "update", "delete"].first { line.contains(#","change":"\#($0)""#) } ?? "none"
        }
    }

    @Test func `a save creates or updates a record, and a save after a delete creates the record again`() throws {
        let commands = [Example.save(), Example.save(), Example.delete(), Example.save()]
        #expect(try changes(commands) == ["create", "update", "delete", "create"])
    }

    @Test(arguments: [
        Example.save("n2"), Example.save(zone: "Other"), Example.save(owner: "_bob"), Example.save(type: "Task"),
        Example.save(database: "public"), Example.save(database: "shared"),
        Example.save().replacing("development", with: "production"),
        Example.save().replacing("example.Notes", with: "example.Other"),
    ])
    func `a save with another container, environment, database, zone, owner, name or type is a create`(
        other: String
    ) throws {
        #expect(try changes([Example.save(), other]) == ["create", "create"])
    }

    @Test(arguments: [
        Example.save().replacing("n1", with: #"n\u0031"#),
        Example.save().replacing(#""zoneName":"Notes""#, with: #""ownerName":"_alice","zoneName":"Notes""#),
    ])
    func `escapes and the name of a private zone's owner do not distinguish records`(other: String) throws {
        #expect(try changes([Example.save(), other]) == ["create", "update"])
    }

    @Test func `the default zone can be omitted`() throws {
        let named = Example.save(zone: "_defaultZone")
        let unnamed = named.replacing(#""zoneID":{"zoneName":"_defaultZone"},"#, with: "")
        #expect(try changes([named, unnamed]) == ["create", "update"])
    }

    @Test func `in the public database the owner does not distinguish records`() throws {
        let commands = [Example.save(database: "public"), Example.save(database: "public", owner: "_bob")]
        #expect(try changes(commands) == ["create", "update"])
    }

    @Test func `a shared database has zones of several owners`() throws {
        func save(_ zoneOwner: String) -> String {
            Example.save(database: "shared")
                .replacing(#""zoneName":"#, with: #""ownerRecordName":"\#(zoneOwner)","zoneName":"#)
        }
        #expect(try changes([save("_bob"), save("_carol"), save("_bob")]) == ["create", "create", "update"])
    }

    @Test func `a command's own 'change' and 'before' take precedence over the known records`() throws {
        let commands = [
            Example.save(also: #","change":"update""#), Example.save(also: #","change":"create""#),
            Example.save("n2", also: #","before":{}"#),
        ]
        #expect(try changes(commands) == ["update", "create", "update"])
    }

    @Test func `a delete without a record type gets the type and the last fields of the known record`() throws {
        var door = try Door()
        try door.send(Example.save(fields: #"{"a":{"value":1}}"#))
        try door.send(Example.save(fields: #"{ "a":{"value":2} }"#))
        try door.send(Example.delete(type: nil))
        let appended = #","change":"delete","before":{ "a":{"value":2} },"recordType":"Note""#
        #expect(door.log.last == Example.delete(type: nil, also: appended))
    }

    @Test func `the 'before' of a delete command is not replaced by the known fields`() throws {
        var door = try Door()
        try door.send(Example.save())
        try door.send(Example.delete(also: #","before":{"b":{"value":3}}"#))
        #expect(door.log.last == Example.delete(also: #","before":{"b":{"value":3}},"change":"delete""#))
    }

    @Test func `the delete of an unknown record has no fields`() throws {
        var door = try Door()
        try door.send(Example.delete())
        try door.send(Example.save())
        try door.send(Example.delete())
        try door.send(Example.delete())
        #expect(door.log.first == Example.delete(also: #","change":"delete""#))
        #expect(door.log.last == door.log.first)
    }

    @Test func `a delete with another record type keeps the record`() throws {
        var door = try Door()
        try door.send(Example.save())
        try door.send(Example.delete(type: "Task"))
        try door.send(Example.delete(type: "Note"))
        #expect(door.log[1] == Example.delete(type: "Task", also: #","change":"delete""#))
        #expect(door.log[2].contains(#""before":\#(Example.title)"#))
    }

    @Test func `a rejected command changes neither the records nor the log`() throws {
        var door = try Door()
        try door.send(Example.save(also: #","time":"never""#))
        try door.send(Example.save())
        #expect(door.log == [Example.save(also: #","change":"create""#)])
    }

    @Test
    func `a second door accepts the events of a log as commands, and moves their member 'change' to the end`() throws {
        var door = try Door()
        for command in [Example.save(), Example.save(), Example.delete(type: nil)] { try door.send(command) }
        var second = try Door()
        for line in door.log { #expect(try second.send(line) == nil) }
        let moved = door.log[2].replacing(#","change":"delete""#, with: "").adding(#","change":"delete""#)
        #expect(second.log == [door.log[0], door.log[1], moved])
    }
}
