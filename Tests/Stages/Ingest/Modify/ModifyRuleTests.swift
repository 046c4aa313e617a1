import PipelineKit
import TestSupport
import Testing

@testable import Ingest

/// The rules of `records.modify` for forms, zones, references and sizes. Also the rules of zone commands, and the rule
/// for the member `request` of commands.
struct ModifyRuleTests {
    private func refusal(_ operations: [String], after commands: [String] = []) throws -> String? {
        var door = try Door()
        for command in [Example.zone("save", "Notes")] + commands { #expect(try door.send(command) == nil) }
        let count = door.log.count
        let refusal = try door.send(Example.modify(operations))
        if refusal != nil { #expect(door.log.count == count) }
        return refusal.map { "\($0.code) \($0.path)" }
    }

    // MARK: Forms

    @Test(arguments: [
        (#"{"record":{"recordName":"n"}}"#, "member.missing operations[0].operationType"),
        (#"{"operationType":"delete"}"#, "member.missing operations[0].record"),
        (#"{"operationType":"upsert","record":{}}"#, "word.unknown operations[0].operationType"),
        (#"{"operationType":"create","record":{},"atomic":true}"#, "member.unknown operations[0].atomic"),
        ("7", "member.kind operations[0]"),
        (Example.operation("create", type: nil), "member.missing operations[0].record.recordType"),
        (Example.operation("forceUpdate", type: nil), "member.missing operations[0].record.recordType"),
        (Example.operation("create", "é"), "name.characters operations[0].record.recordName"),
        (
            Example.operation("create", fields: #"{"a":{"value":true}}"#),
            "field.value operations[0].record.fields.a.value"
        ),
        (
            Example.operation("create").replacing(#""zoneName""#, with: #""ownerRecordName":"_bob","zoneName""#),
            "zone.owner operations[0].record.zoneID.ownerRecordName"
        ),
        (
            Example.operation("update", tag: "1").replacing(#""1""#, with: "1"),
            "member.kind operations[0].record.recordChangeTag"
        ),
    ])
    func `an invalid operation is refused with code and path`(operation: String, refusal: String) throws {
        #expect(try self.refusal([operation]) == refusal)
    }

    @Test func `a command has 1 to 200 operations`() throws {
        func creates(_ count: Int) -> [String] { (0..<count).map { Example.operation("create", "n\($0)") } }
        #expect(try refusal(creates(200)) == nil)
        #expect(try refusal(creates(201)) == "operations.count operations")
        #expect(try refusal([]) == "operations.count operations")
    }

    @Test func `the member request has 1 to 64 bytes`() throws {
        let commands = [
            Example.modify([Example.operation("create", zone: nil)]), Example.zone("save", "Z"), Example.save(),
            Example.delete(), Example.register(),
            Example.subscribe(#"{"subscriptionID":"a","subscriptionType":"database"}"#),
            #"{"type":"subscription.delete",\#(Example.place),"database":"public","user":"_alice","subscriptionID":"f"}"#,
            #"{"type":"device.unregister",\#(Example.place),"user":"_alice","device":"phone"}"#,
        ]
        for command in commands {
            for (length, isRefused) in [(0, true), (1, false), (64, false), (65, true)] {
                let member = #","request":"\#(String(repeating: "r", count: length))""#
                var door = try Door()
                #expect(try door.send(command.adding(member))?.path == (isRefused ? "request" : nil))
                #expect(door.log.allSatisfy { $0.contains(member) } && door.log.isEmpty == isRefused)
            }
        }
    }

    // MARK: Zones

    @Test func `a record needs its zone, and the default zone always exists`() throws {
        let missing = "zone.missing operations[1].record.zoneID"
        for type in ["create", "update", "forceReplace", "delete", "forceDelete"] {
            let operation = Example.operation(type, zone: "Other")
            #expect(try refusal([Example.operation("create"), operation]) == missing)
        }
        for zone in [nil, "_defaultZone"] { #expect(try refusal([Example.operation("create", zone: zone)]) == nil) }
        #expect(
            try refusal([Example.operation("create", "n2", zone: "Other")], after: [Example.save(zone: "Other")]) == nil
        )
    }

    @Test func `deleting a zone deletes its records, and a new zone with the same name is empty`() throws {
        var door = try Door()
        for name in ["n1", "n2"] { try door.send(Example.save(name)) }
        try door.send(Example.save("n1", zone: "Other"))
        #expect(try door.send(Example.zone("delete", "Notes")) == nil)
        #expect(door.log.count == 4)
        #expect(try door.send(Example.zone("delete", "Notes"))?.code == "zone.missing")
        #expect(try door.send(Example.zone("save", "Notes")) == nil)
        #expect(try door.send(Example.zone("save", "Notes")) == nil)
        #expect(door.log.count == 5)
        #expect(try door.send(Example.modify([Example.operation("create", "n1")])) == nil)
        #expect(
            try door.send(Example.modify([Example.operation("create", "n1", zone: "Other")]))?.code == "record.exists")
        try door.send(Example.delete("n2"))
        #expect(door.log.last == Example.delete("n2", also: #","change":"delete""#))
        // A record.save creates the deleted zone again, and the record is new.
        try door.send(Example.zone("delete", "Notes"))
        try door.send(Example.save("n1"))
        #expect(door.log.last?.contains(#""change":"create""#) == true)
        #expect(try door.send(Example.modify([Example.operation("create", "n3")])) == nil)
    }

    @Test(arguments: [
        (Example.zone("save", "_defaultZone"), "zone.default zoneID.zoneName"),
        (Example.zone("delete", "_defaultZone"), "zone.default zoneID.zoneName"),
        (Example.zone("save", "Z").replacing("private", with: "public"), "zone.database database"),
        (Example.zone("save", "_z"), "name.reserved zoneID.zoneName"),
        (Example.zone("save", "Z").adding(#","zone":1"#), "member.unknown zone"),
        (
            Example.zone("save", "Z").replacing(#""zoneName""#, with: #""ownerRecordName":"_bob","zoneName""#),
            "zone.owner zoneID.ownerRecordName"
        ),
        (Example.zone("save", "Z").replacing(#""owner":"_alice","#, with: ""), "member.missing owner"),
    ])
    func `an invalid zone command is refused with code and path`(command: String, refusal: String) throws {
        var door = try Door()
        #expect(try door.send(command).map { "\($0.code) \($0.path)" } == refusal)
        #expect(door.log.isEmpty)
    }

    // MARK: References

    private func reference(_ name: String, _ action: String = "VALIDATE", zone: String? = nil) -> String {
        let zone = zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
        return #"{"recordName":"\#(name)","action":"\#(action)"\#(zone)}"#
    }

    private func linkField(_ references: String..., isList: Bool = false) -> String {
        let value = isList ? "[\(references.joined(separator: ","))]" : references[0]
        return #"{"to":{"value":\#(value),"type":"REFERENCE\#(isList ? "_LIST" : "")"}}"#
    }

    @Test func `a reference with VALIDATE needs a record that exists or that an earlier operation creates`() throws {
        let missing = "reference.missing operations[0].record.fields.to.value"
        func create(_ fields: String) -> String { Example.operation("create", "a", fields: fields) }
        let target = Example.operation("create", "b")
        let (save, other) = ([Example.save("b")], [Example.save("b", zone: "Other")])
        #expect(try refusal([create(linkField(reference("b")))]) == missing + ".recordName")
        #expect(try refusal([create(linkField(reference("b")))], after: save) == nil)
        #expect(try refusal([create(linkField(reference("b")))], after: other) == missing + ".recordName")
        #expect(try refusal([create(linkField(reference("b", zone: "Other")))], after: other) == nil)
        #expect(try refusal([create(linkField(reference("b"))), target]) == missing + ".recordName")
        #expect(try refusal([target, create(linkField(reference("b")))]) == nil)
        #expect(try refusal([create(linkField(reference("a")))]) == missing + ".recordName")
        for action in ["NONE", "DELETE_SELF"] {
            #expect(try refusal([create(linkField(reference("b", action)))]) == nil)
        }
        let list = linkField(reference("b"), reference("c", "NONE"), reference("d"), isList: true)
        #expect(try refusal([create(list)], after: save) == missing + "[2].recordName")
        let gone = [Example.operation("forceDelete", "b"), create(linkField(reference("b")))]
        #expect(try refusal(gone, after: save) == missing.replacing("[0]", with: "[1]") + ".recordName")
    }

    @Test
    func `a reference is checked in a field without a type or of type UNKNOWN_LIST, but not in one of type ASSETID`()
        throws
    {
        let (one, list) = ("operations[0].record.fields.to.value", "operations[0].record.fields.to.value[0]")
        func refusal(_ field: String) throws -> String? {
            try self.refusal([Example.operation("create", "a", fields: #"{"to":{\#(field)}}"#)])
        }
        let validate = reference("b")
        #expect(try refusal(#""value":\#(validate)"#) == "reference.missing \(one).recordName")
        #expect(try refusal(#""value":[\#(validate)]"#) == "reference.missing \(list).recordName")
        #expect(try refusal(#""value":[\#(validate)],"type":"UNKNOWN_LIST""#) == "reference.missing \(list).recordName")
        #expect(try refusal(#""value":\#(reference("b", "DELETE"))"#) == "word.unknown \(one).action")
        for field in [
            #""value":\#(validate),"type":"ASSETID""#, #""value":{"action":"VALIDATE"}"#, #""value":["VALIDATE"]"#,
            #""value":\#(reference("b", "DELETE_SELF"))"#,
        ] {
            #expect(try refusal(field) == nil, "\(field)")
        }
    }

    // MARK: Sizes

    @Test func `a record has at most 1,000,000 bytes after the merge`() throws {
        func fields(_ name: String, _ length: Int) -> String {
            #"{"\#(name)":{"value":"\#(String(repeating: "x", count: length))"}}"#
        }
        let large = [Example.modify([Example.operation("create", fields: fields("a", 600_000))])]
        let tooLarge = "record.too_large operations[0].record"
        #expect(
            try refusal([Example.operation("update", tag: "2", fields: fields("b", 500_000))], after: large) == tooLarge
        )
        #expect(
            try refusal([Example.operation("replace", tag: "2", fields: fields("b", 500_000))], after: large) == nil)
        #expect(try refusal([Example.operation("update", tag: "2", fields: fields("a", 999_000))], after: large) == nil)
        #expect(try refusal([Example.operation("create", fields: fields("a", 1_000_000))]) == tooLarge)
    }

    @Test(.full)
    func `the events of one command have at most 40,000,000 bytes`() throws {
        let fields = #"{"a":{"value":"\#(String(repeating: "x", count: 990_000))"}}"#
        let saves = (0..<41).map { Example.save("n\($0)", fields: fields) }
        func updates(_ count: Int) -> [String] {
            (0..<count).map { Example.operation("forceUpdate", "n\($0)", fields: #"{"b":{"value":1}}"#) }
        }
        #expect(try refusal(updates(40), after: saves) == nil)
        #expect(try refusal(updates(41), after: saves) == "operations.too_large operations[40]")
    }
}
