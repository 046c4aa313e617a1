import CloudKitModel
import TestSupport
import Testing

@testable import RecordStore

struct RecordTests {
    private static let fields =
        #"{"n":{"value":5,"type":"INT64"},"d":{"value":[1.5,2],"type":"DOUBLE_LIST"},"s":{"value":"x"},"#
        + #""t":{"value":7,"type":"TIMESTAMP"},"u":{"value":9},"l":{"value":{"latitude":1,"longitude":2}}}"#

    private func record(_ test: TestStore, _ name: String = "a") throws -> StoredRecord {
        try #require(try test.store.records(named: [name], of: .alice)[0])
    }

    @Test func `an answer shows a record with its tag, stamps and zone`() throws {
        let test = try TestStore()
        let origin = #","origin":{"user":"_bob","device":"pad"}"#
        let parent = #","parent":{"recordName":"p"}"#
        try test.apply([Line.save("a", #"{"s":{"value":"x"}}"#)], milliseconds: 1_000)
        try test.apply(
            (0..<40).map { Line.save("b\($0)") } + [
                Line.save("a", #"{ "s" : {"value":"y","type":"STRING"} }"#, more: origin, moreOfRecord: parent)
            ], milliseconds: 2_000)
        #expect(
            try record(test).json()
                == #"{"recordName":"a","recordType":"Note","fields":{ "s" : {"value":"y","type":"STRING"} },"pluginFields":{},"#
                + #""recordChangeTag":"16","created":{"timestamp":1000,"userRecordName":"_alice"},"#
                + #""modified":{"timestamp":2000,"userRecordName":"_bob","deviceID":"pad"},"deleted":false,"#
                + #""parent":{"recordName":"p"},"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"_alice"}}"#)
        #expect(try record(test).changeTag == ChangeTag(sequence: 42))
    }

    @Test func `desired keys leave other fields out, and numbers can be written as strings`() throws {
        let test = try TestStore()
        try test.apply([Line.save("a", Self.fields)])
        let record = try record(test)
        #expect(record.json(desiredKeys: ["s", "none"]).contains(#""fields":{"s":{"value":"x","type":"STRING"}},"#))
        #expect(record.json(desiredKeys: []).contains(#""fields":{},"#))
        let strings =
            #""fields":{"n":{"value":"5","type":"INT64"},"d":{"value":["1.5","2"],"type":"DOUBLE_LIST"},"#
            + #""s":{"value":"x","type":"STRING"},"t":{"value":7,"type":"TIMESTAMP"},"#
            + #""u":{"value":"9","type":"INT64"},"l":{"value":{"latitude":1,"longitude":2},"type":"LOCATION"}}"#
        #expect(record.json(numbersAsStrings: true).contains(strings))
        #expect(record.fieldsText == Self.fields)
    }

    @Test(arguments: [
        ("\"x\"", "STRING"), ("5", "INT64"), ("-7", "INT64"), ("9223372036854775808", "DOUBLE"), ("5.0", "DOUBLE"),
        ("1e3", "DOUBLE"), (#"{"recordName":"r","action":"NONE"}"#, "REFERENCE"),
        (#"{"latitude":1,"longitude":2}"#, "LOCATION"), (#"{"fileChecksum":"c","size":1}"#, "ASSETID"),
        (#"["a","b"]"#, "STRING_LIST"), ("[1,2]", "INT64_LIST"), ("[1,2.5]", "DOUBLE_LIST"),
        (#"[{"recordName":"r"}]"#, "REFERENCE_LIST"), ("[ ]", nil), (#"{"other":1}"#, nil), (#"{"latitude":1}"#, nil),
        (#"{"latitude":500,"longitude":2}"#, nil), (#"{"latitude":"1","longitude":2}"#, nil),
        (#"{"recordName":5}"#, nil), (#"{"fileChecksum":5}"#, nil), (#"[{"recordName":"r"},{"a":1}]"#, nil),
        (#"["a",1]"#, nil), (#"[1,null]"#, "INT64_LIST"),
    ])
    func `an answer names the type of a field whose writer named none, if the value shows it`(
        value: String, type: String?
    ) throws {
        let test = try TestStore()
        let fields = #"{"typed":{"type":"TIMESTAMP","value":7}, "f" : {"value":\#(value) }}"#
        try test.apply([Line.save("a", fields)])
        let record = try record(test)
        let answered = type.map { #"{"value":\#(value) ,"type":"\#($0)"}"# } ?? #"{"value":\#(value) }"#
        #expect(record.json().contains(#""fields":{"typed":{"type":"TIMESTAMP","value":7},"f":\#(answered)},"#))
        #expect(record.fieldsText == fields)
    }

    @Test
    func `an answer adds missing types, even if the row does not say whether all fields name their types`() throws {
        let test = try TestStore()
        try test.apply([
            Line.save("a", #"{"s":{"value":"x"}}"#), Line.save("b", #"{"s":{"value":"x","type":"STRING"}}"#),
        ])
        let before = try test.dump
        #expect(try !record(test).namesAllTypes && record(test, "b").namesAllTypes)
        // Older versions wrote rows like this.
        try test.store.writing.write { try $0.execute(sql: "UPDATE records SET links = links & 3") }
        for name in ["a", "b"] {
            #expect(try record(test, name).json().contains(#""fields":{"s":{"value":"x","type":"STRING"}},"#))
        }
        #expect(try test.dump == before)
    }

    @Test func `assets get the download URLs of their files`() throws {
        let test = try TestStore()
        func file(_ checksum: String, _ more: String = "") -> String {
            #"{"fileChecksum":"\#(checksum)","size":3\#(more)}"#
        }
        func fields(_ more: (String) -> String) -> String {
            #"{"one":{"value":\#(file("a1", more("a1"))),"type":"ASSETID"},"#
                + #""list":{"value":[\#(file("b2", more("b2"))),\#(file("c3", more("c3")))],"type":"ASSETID_LIST"},"#
                + #""n":{"value":5,"type":"INT64"}}"#
        }
        try test.apply([Line.save("a", fields { _ in "" })])
        let record = try record(test)
        #expect(record.json().contains(fields { _ in "" }))
        let urls = fields { #","downloadURL":"/\#($0)""# }
        #expect(record.json { "/\($0)" }.contains(urls))
        try test.apply([Line.save("a", fields { _ in "" }.replacing(#","type":"ASSETID_LIST""#, with: ""))])
        #expect(try self.record(test).json { "/\($0)" }.contains(urls))
        try test.apply([Line.save("a", #"{"n":{"value":5}}"#)])
        #expect(try !self.record(test).json { "/\($0)" }.contains("downloadURL"))
    }

    @Test func `a record that is deleted and created again is new`() throws {
        let test = try TestStore()
        try test.apply([Line.save("a")], milliseconds: 1)
        try test.apply([Line.save("a")], milliseconds: 2)
        #expect(try record(test).created.milliseconds == 1 && record(test).modified.milliseconds == 2)
        try test.apply([Line.delete("a"), Line.save("a")], milliseconds: 3)
        #expect(try record(test).created.milliseconds == 3)
        // A record that changes its type is new, too, as it is for the ingest stage.
        try test.apply([Line.save("a", type: "Other")], milliseconds: 4)
        #expect(try record(test).created.milliseconds == 4 && record(test).type == "Other")
    }

    @Test func `applying events returns the events of known types that name a request, in order`() throws {
        let test = try TestStore()
        let request = #","request":"k7:1""#
        let lines = [
            Line.save("a", zone: "Z", more: request), Line.save("b"), Line.delete("a", zone: "Z", more: request),
            Line.saveZone("Y", more: request),
            #"{"type":"unknown","request":"k8"}"#,
            #"{"type":"subscription.delete","container":"iCloud.a","environment":"production","database":"public","#
                + #""user":"_u","subscriptionID":"s","request":"k9"}"#,
        ]
        let applied = try test.apply(lines)
        #expect(applied.map(\.sequence) == [1, 3, 4, 6])
        #expect(applied.map(\.type) == ["record.save", "record.delete", "zone.save", "subscription.delete"])
        #expect(applied.map(\.request) == ["k7:1", "k7:1", "k7:1", "k9"])
        #expect(applied.map(\.zone?.name) == ["Z", "Z", "Y", nil] && applied.map(\.name) == ["a", "a", nil, "s"])
        let again = EventBatch(lines, first: 1, milliseconds: 1)
        #expect(try test.writer.apply([again]).isEmpty)
    }

    @Test func `unknown members are ignored, and escaped names are unescaped`() throws {
        let test = try TestStore()
        let line =
            #"{"x":[1,{}],"typ\u0065":"record.save",\#(DatabaseID.alice.members),"record":{"record\u004eame":"#
            + #""\u0061","recordType":"Note","zoneID":{"zoneName":"_defa\u0075ltZone"}},"change":"create"}"#
        try test.apply([line])
        #expect(try record(test).name == "a" && record(test).fieldsText == "{}")
    }
}

struct RecordLinkTests {
    private func reference(_ name: String, _ action: String = "DELETE_SELF", zone: String? = nil) -> String {
        let zone = zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
        return #"{"r":{"value":{"recordName":"\#(name)","action":"\#(action)"\#(zone)},"type":"REFERENCE"}}"#
    }

    @Test func `only a DELETE_SELF reference makes a record dependent, and breaks when its target is deleted`() throws {
        let test = try TestStore()
        try test.apply([
            Line.save("t"), Line.save("a", reference("t")), Line.save("b", reference("t", "NONE")),
            Line.save("c", reference("t"), zone: "Z"), Line.save("d", reference("t", zone: "_defaultZone"), zone: "Z"),
            Line.save("e", reference("other")),
        ])
        #expect(try test.store.dependents(of: "t", in: .defaultZone, of: .alice).map(\.name) == ["a", "d"])
        #expect(try test.store.recordsWithBrokenReferences().isEmpty)
        try test.apply([Line.delete("t")])
        let broken = try test.store.recordsWithBrokenReferences()
        #expect(broken.map(\.name) == ["a", "d"] && broken.map(\.zone.name) == ["_defaultZone", "Z"])
        #expect(broken.allSatisfy { $0.database == .alice })
        // A save with the same reference leaves the reference broken. A save without the reference removes it.
        try test.apply([Line.save("a", reference("t")), Line.save("d", zone: "Z")])
        #expect(try test.store.recordsWithBrokenReferences().map(\.name) == ["a"])
        try test.apply([Line.delete("a")])
        #expect(try test.store.recordsWithBrokenReferences().isEmpty)
    }

    @Test
    func `a DELETE_SELF reference makes its record dependent, unless the field's type allows no reference`() throws {
        let test = try TestStore()
        let reference = #"{"recordName":"t","action":"DELETE_SELF"}"#
        let fields = [
            #""value":\#(reference)"#, #""value":[\#(reference)]"#, #""value":[\#(reference)],"type":"REFERENCE_LIST""#,
            #""value":[\#(reference)],"type":"UNKNOWN_LIST""#, #""value":\#(reference),"type":"ASSETID""#,
            #""value":[\#(reference)],"type":"LOCATION_LIST""#,
        ]
        try test.apply(zip("abcdef", fields).map { Line.save("\($0)", #"{"r":{\#($1)}}"#) })
        let dependents = try test.store.dependents(of: "t", in: .defaultZone, of: .alice)
        #expect(dependents.map(\.name) == ["a", "b", "c", "d"])
    }

    @Test func `the delete of a zone breaks references from other zones to its records`() throws {
        let test = try TestStore()
        try test.apply([
            Line.save("t", zone: "Z"), Line.save("t", zone: "Z2"), Line.save("a", reference("t", zone: "Z")),
            Line.save("b", reference("t"), zone: "Z"), Line.save("c", reference("t", zone: "Z2")),
        ])
        try test.apply([Line.deleteZone("Z")])
        #expect(try test.store.recordsWithBrokenReferences().map(\.name) == ["a"])
        try test.finish()
        #expect(try test.store.recordsWithBrokenReferences().map(\.name) == ["a"])
    }

    @Test func `removing the rows of deleted zones does not change the dump`() throws {
        let test = try TestStore()
        let asset = #"{"f":{"value":{"fileChecksum":"C"},"type":"ASSETID"}}"#
        try test.apply([Line.save("a", asset, zone: "Z"), Line.save("b", asset), Line.deleteZone("Z")])
        let before = try test.dump
        #expect(try test.store.referenceCount(ofAsset: "C") == 1)
        try test.finish()
        let rows = try test.store.read { try $0.prepared("SELECT count(*) FROM records").first { $0.int(0) } }
        #expect(try test.dump == before && rows == 1)
    }
}
