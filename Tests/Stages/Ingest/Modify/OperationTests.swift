import PipelineKit
import Testing

@testable import Ingest

/// The outcome of each type of operation in each ``Situation``.
struct OperationTests {
    /// Whether the record exists, and if it does, which change tag and record type the operation names.
    enum Situation: CaseIterable { case noRecord, rightTag, wrongTag, noTag, otherType }

    /// For each type, the outcome of the operation in each situation, in the order of ``Situation``. For an accepted
    /// operation, the outcome is the event's member `change`, or `none` if there is no event. For a refused operation,
    /// it is the code of the refusal and its path below the record.
    static let table: [(type: String, outcomes: [String])] = [
        ("create", ["create", exists, exists, exists, exists]),
        ("update", [missing, "update", conflict, conflict, otherType]),
        ("forceUpdate", ["create", "update", "update", "update", otherType]),
        ("replace", [missing, "update", conflict, conflict, otherType]),
        ("forceReplace", ["create", "update", "update", "update", otherType]),
        ("delete", [missing, "delete", conflict, conflict, otherType]),
        ("forceDelete", ["none", "delete", "delete", "delete", otherType]),
    ]
    private static let exists = "record.exists recordName"
    private static let missing = "record.missing recordName"
    private static let conflict = "record.conflict recordChangeTag"
    private static let otherType = "record.type recordType"

    @Test(arguments: table, Situation.allCases.indices)
    func `the existing record, the change tag and the record type decide the outcome of an operation`(
        row: (type: String, outcomes: [String]), index: Int
    ) throws {
        let situation = Situation.allCases[index]
        var door = try Door()
        try door.send(Example.zone("save", "Notes"))
        if situation != .noRecord { try door.send(Example.save()) }
        let before = door.log
        let tag = situation == .noTag ? nil : situation == .wrongTag ? "1" : "2"
        let operation = Example.operation(
            row.type, type: situation == .otherType ? "Task" : "Note", tag: tag, fields: Example.title)
        let other = Example.operation("create", "other")
        let refusal = try door.send(Example.modify([other, operation]))
        let change = ["create", "update", "delete"].first { change in
            door.log.dropFirst(before.count + 1).contains { $0.contains(#""change":"\#(change)""#) }
        }
        let outcome = refusal.map { "\($0.code) \($0.path)" } ?? change ?? "none"
        let expected = row.outcomes[index]
        #expect(outcome == expected.replacing(" ", with: " operations[1].record."))
        // A refused command adds no event to the log, not even the event of its first operation.
        #expect(refusal == nil || door.log == before)
    }

    @Test func `an event has the command's request, and the record without its tag`() throws {
        var door = try Door()
        try door.send(Example.save())
        let also = #","origin":{ "user":"_alice", "device":"mac" },"request":"k7:12","time":"2026-01-31T12:00:00Z""#
        let update = Example.operation("update", type: nil, tag: "1", fields: #"{"stars":{"value":3}}"#)
        let delete = Example.operation("forceDelete", type: nil)
        #expect(try door.send(Example.modify([update], also: also)) == nil)
        #expect(try door.send(Example.modify([delete], also: also)) == nil)
        let start =
            #"\#(Example.place),"database":"private","owner":"_alice","#
            + #""origin":{"user":"_alice","device":"mac"},"#
        let record = #""record":{"recordName":"n1","zoneID":{"zoneName":"Notes"}"#
        let fields = #"{"title":{"value":"Hi","type":"STRING"},"stars":{"value":3}}"#
        #expect(
            door.log.dropFirst() == [
                #"{"type":"record.save",\#(start)\#(record),"recordType":"Note","fields":\#(fields)},"#
                    + #""change":"update","request":"k7:12"}"#,
                #"{"type":"record.delete",\#(start)\#(record)},"change":"delete","before":\#(fields),"#
                    + #""recordType":"Note","request":"k7:12"}"#,
            ])
    }

    @Test(arguments: [
        ("update", #"{"a":{"value":1},"c":{"value":[3]},"d":{"value":4}}"#),
        ("forceUpdate", #"{"a":{"value":1},"c":{"value":[3]},"d":{"value":4}}"#),
        ("replace", #"{"c":{"value":[3]},"d":{"value":4}}"#),
        ("forceReplace", #"{"c":{"value":[3]},"d":{"value":4}}"#),
    ])
    func `an update keeps the fields that it does not name, a replace drops them, and null removes a field`(
        type: String, fields: String
    ) throws {
        var door = try Door()
        try door.send(Example.save(fields: #"{"a":{"value":1},"b":{"value":2},"c":{"value":3}}"#))
        let given = #"{"c":{"value":[3]},"e":{"value":null},"d":{"value":4},"b":{"value":null,"type":"INT64"}}"#
        let named = given.replacing(#""b""#, with: #""\u0062""#)
        #expect(try door.send(Example.modify([Example.operation(type, tag: "1", fields: named)])) == nil)
        #expect(door.log.last?.contains(#""fields":\#(fields)},"change":"update"}"#) == true, "\(door.log)")
        // A delete logs the record's fields as `before`.
        #expect(try door.send(Example.modify([Example.operation("delete", type: nil, tag: "2")])) == nil)
        #expect(door.log.last?.contains(#""before":\#(fields),"#) == true, "\(door.log)")
    }

    @Test func `a record.save changes the change tag, too`() throws {
        var door = try Door()
        for _ in 0..<40 { try door.send(Example.save()) }
        func update(_ tag: String) -> String { Example.modify([Example.operation("update", tag: tag)]) }
        let refusal = try door.send(update("13"))
        #expect(refusal?.code == "record.conflict" && refusal?.reason.contains("\"14\"") == true)
        #expect(try door.send(update("14")) == nil)
        #expect(try door.send(update("15")) == nil)
    }

    @Test func `a command that names a record twice is refused`() throws {
        var door = try Door()
        let operations = [
            Example.operation("forceUpdate", zone: nil), Example.operation("forceDelete", zone: "_defaultZone"),
        ]
        let refusal = try door.send(Example.modify(operations))
        #expect(refusal?.code == "record.repeated" && refusal?.path == "operations[1].record.recordName")
        #expect(door.log.isEmpty)
    }

    @Test func `an operation that merges fields keeps the parent, and null removes it`() throws {
        var door = try Door()
        func modify(_ type: String, _ members: String) throws {
            let operation = Example.operation(type, fields: "{}").dropLast(2) + members + "}}"
            #expect(try door.send(Example.modify([String(operation)])) == nil)
        }
        try door.send(Example.zone("save", "Notes"))
        let parent = #""parent":{"recordName":"p1"}"#
        try modify("create", "," + parent)
        #expect(door.log.last?.contains(parent) == true)
        try modify("forceUpdate", "")
        #expect(door.log.last?.contains(parent) == true)
        try door.restart(fromSnapshot: false)
        try modify("forceUpdate", "")
        #expect(door.log.last?.contains(parent) == true)
        try modify("forceUpdate", #","parent":{"recordName":"p2"}"#)
        #expect(door.log.last?.contains(parent) == false && door.log.last?.contains("p2") == true)
        try modify("forceUpdate", #","parent":null"#)
        #expect(door.log.last?.contains("parent") == false)
        try modify("forceUpdate", "," + parent)
        try modify("forceReplace", "")
        #expect(door.log.last?.contains("parent") == false)
    }
}
