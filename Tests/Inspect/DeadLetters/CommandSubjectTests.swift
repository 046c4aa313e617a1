import JSON
import Testing

@testable import Inspect

struct CommandSubjectTests {
    private func subject(withZone zoneID: String) throws -> CommandSubject? {
        let line =
            #"{"type":"record.save","container":"iCloud.c","environment":"development","database":"shared","#
            + #""owner":"_alice","record":{"recordName":"n1"\#(zoneID)}}"#
        var parser = JSONParser()
        return try Array(line.utf8).withUnsafeBytes { CommandSubject(try parser.parse($0)) }
    }

    @Test func `records in zones with one name and different owners are different subjects`() throws {
        func subjectOfZone(of owner: String) throws -> CommandSubject? {
            try subject(withZone: #","zoneID":{"zoneName":"Work","ownerRecordName":"\#(owner)"}"#)
        }
        let withoutZoneOwner = try subject(withZone: #","zoneID":{"zoneName":"Work"}"#)
        #expect(try subjectOfZone(of: "_bob") != subjectOfZone(of: "_carol"))
        #expect(try subjectOfZone(of: "_bob") != withoutZoneOwner)
        for owner in ["_alice", "__defaultOwner__", "_defaultOwner"] {
            #expect(try subjectOfZone(of: owner) == withoutZoneOwner)
        }
        #expect(try subject(withZone: "") == subject(withZone: #","zoneID":{"zoneName":"_defaultZone"}"#))
    }
}
