import Ingest
import PipelineKit
import Testing

/// One command can change a shared record in the shared databases of several participants.
struct ParticipantTests {
    private static func save(_ participants: String, database: String = "shared", zoneOwner: String? = "_alice")
        -> String
    {
        let owner = zoneOwner.map { #","ownerRecordName":"\#($0)""# } ?? ""
        return #"{"type":"record.save",\#(Example.place),"database":"\#(database)","participants":\#(participants),"#
            + #""record":{"recordName":"n1","recordType":"Note","zoneID":{"zoneName":"Notes"\#(owner)},"fields":\#(Example.title)}}"#
    }

    @Test func `each participant gets the change in their own shared database`() throws {
        var door = try Door()
        let command = Self.save(#"["_bob","_carol"]"#)
        #expect(try door.send(command) == nil)
        let rest = command.replacing(#""participants":["_bob","_carol"],"#, with: "")
        func event(_ user: String, _ change: String) -> String {
            rest.adding(#","owner":"\#(user)","change":"\#(change)""#)
        }
        #expect(door.log == [event("_bob", "create"), event("_carol", "create")])
        #expect(try door.send(command) == nil)
        #expect(door.log.suffix(2) == [event("_bob", "update"), event("_carol", "update")])
        let delete = command.replacing("record.save", with: "record.delete").replacing(
            #","fields":\#(Example.title)"#, with: "")
        #expect(try door.send(delete) == nil)
        for (line, user) in zip(door.log.suffix(2), ["_bob", "_carol"]) {
            #expect(line.hasSuffix(#","owner":"\#(user)","change":"delete","before":\#(Example.title)}"#))
            #expect(!line.contains("participants"))
        }
    }

    @Test func `a save for a participant and a save with the participant as owner save the same record`() throws {
        var door = try Door()
        let command = Self.save(#"["_bob"]"#)
        try door.send(command)
        try door.send(command.replacing(#""participants":["_bob"]"#, with: #""owner":"_bob""#))
        #expect(door.log.last?.hasSuffix(#""change":"update"}"#) == true)
    }

    @Test(arguments: [
        (save("[]"), "participants.count", "participants"), (save("7"), "member.kind", "participants"),
        (save(#"["_b",7]"#), "member.kind", "participants[1]"),
        (save(#"["_b",""]"#), "name.length", "participants[1]"),
        (save(#"["_b","_c","_b"]"#), "participants.repeated", "participants[2]"),
        (save(#"["_b","_alice"]"#), "zone.owner", "participants[1]"),
        (save("[" + (0...20).map { "\"_u\($0)\"" }.joined(separator: ",") + "]"), "participants.count", "participants"),
        (save(#"["_b"]"#, database: "private"), "member.conflict", "participants"),
        (save(#"["_b"]"#, database: "public"), "member.conflict", "participants"),
        (save(#"["_b"]"#).adding(#","owner":"_b""#), "member.conflict", "participants"),
        (save(#"["_b"]"#, zoneOwner: nil), "member.missing", "record.zoneID.ownerRecordName"),
    ])
    func `invalid participants are rejected`(_ command: String, _ code: String, _ path: String) throws {
        var door = try Door()
        let rejection = try #require(try door.send(command))
        #expect(rejection.code == code && rejection.path == path, "\(rejection)")
        #expect(door.log == [])
    }
}
