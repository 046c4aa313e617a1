import Testing

@testable import PipelineTestKit
@testable import WebServices

/// The references of records at the gateway: the parent, references in fields without a type, and the limit of
/// DELETE_SELF references.
@Suite("References at the gateway", .serialized, .timeLimit(.minutes(3)))
struct ReferenceTests {
    private static func modify(
        _ rig: GatewayRig, _ operation: String, _ members: String, name: String = "child"
    ) async throws -> GatewayRig.Answer {
        try await rig.post(
            "private/records/modify",
            #"{"operations":[{"operationType":"\#(operation)","record":{"recordName":"\#(name)","recordType":"Note","#
                + #"\#(members)}}]}"#)
    }

    @Test func `a record keeps its parent until the parent is replaced or null`() async throws {
        try await GatewayRig.with { rig in
            func parent() async throws -> String? {
                let found = try await rig.post("private/records/lookup", #"{"records":[{"recordName":"child"}]}"#)
                return found["records.0.parent.recordName"]
            }
            let created = try await Self.modify(
                rig, "create",
                #""parent":{"recordName":"p1","zoneID":{"zoneName":"Work","junk":1},"action":"NONE"},"share":{"#
                    + #""recordName":"s"},"fields":{}"#)
            #expect(created["records.0.parent.recordName"] == "p1", "\(created)")
            #expect(created["records.0.parent.zoneID.zoneName"] == "Work", "\(created)")
            #expect(!created.text.contains("share") && !created.text.contains("junk"), "\(created)")
            #expect(try await parent() == "p1")
            _ = try await Self.modify(rig, "forceUpdate", #""fields":{"title":{"value":"Hi"}}"#)
            #expect(try await parent() == "p1")
            _ = try await Self.modify(rig, "forceUpdate", #""parent":{"recordName":"p2"},"fields":{}"#)
            #expect(try await parent() == "p2")
            _ = try await Self.modify(rig, "forceUpdate", #""parent":null,"fields":{}"#)
            #expect(try await parent() == nil)
        }
    }

    @Test func `a parent that is not a valid reference to a record is refused`() async throws {
        let cases = [
            ("7", ""), ("{}", ".recordName"), (#"{"recordName":""}"#, ".recordName"),
            (#"{"recordName":"p","zoneID":{"zoneName":"_z"}}"#, ".zoneID.zoneName"),
        ]
        try await GatewayRig.with { rig in
            for (parent, place) in cases {
                let refused = try await Self.modify(rig, "create", #""parent":\#(parent),"fields":{}"#)
                #expect(refused.status == 400, "\(refused)")
                #expect(refused["reason"]?.hasPrefix("operations[0].record.parent\(place): ") == true, "\(refused)")
            }
        }
    }

    @Test func `the action of a reference takes effect also in a field without a type`() async throws {
        try await GatewayRig.with { rig in
            func code(_ reference: String) async throws -> String? {
                try await Self.modify(rig, "forceReplace", #""fields":{"to":{"value":\#(reference)}}"#)[
                    "records.0.serverErrorCode"]
            }
            #expect(try await code(#"{"recordName":"t","action":"VALIDATE"}"#) == "VALIDATING_REFERENCE_ERROR")
            #expect(try await code(#"[{"recordName":"t","action":"VALIDATE"}]"#) == "VALIDATING_REFERENCE_ERROR")
            #expect(try await code(#"{"recordName":"t","action":"DELETE"}"#) == "BAD_REQUEST")
            #expect(try await code(#"{"action":"DELETE"}"#) == nil)
            _ = try await Self.modify(rig, "create", #""fields":{}"#, name: "t")
            #expect(try await code(#"{"recordName":"t","action":"VALIDATE"}"#) == nil)
        }
    }

    // MARK: The limit of DELETE_SELF references

    /// - Parameter target: The name of the record to which each saved record refers; nil for no reference.
    private static func operations(
        _ type: String, _ names: some Sequence<Int>, to target: String?, action: String = "DELETE_SELF"
    ) -> String {
        names.map { number in
            let reference = target.map {
                #""parent":{"value":{"recordName":"\#($0)","action":"\#(action)"},"type":"REFERENCE"}"#
            }
            return
                #"{"operationType":"\#(type)","record":{"recordName":"child\#(number)","recordType":"Note","fields":{"#
                + #"\#(reference ?? "")}}}"#
        }.joined(separator: ",")
    }

    private static func codes(_ rig: GatewayRig, _ operations: String, _ more: String = "") async throws -> [String?] {
        let answer = try await rig.post("private/records/modify", #"{"operations":[\#(operations)]\#(more)}"#)
        return (0..<answer.count("records")).map { answer["records.\($0).serverErrorCode"] }
    }

    @Test func `at most 750 records have a DELETE_SELF reference to the same record`() async throws {
        try await GatewayRig.with { rig in
            async let some = Self.codes(rig, Self.operations("create", 0..<200, to: "list"))
            async let others = Self.codes(rig, Self.operations("create", 200..<400, to: "list"))
            async let more = Self.codes(rig, Self.operations("create", 400..<600, to: "list"))
            async let rest = Self.codes(rig, Self.operations("create", 600..<800, to: "list"))
            let codes = try await some + others + more + rest
            #expect(codes.count { $0 == nil } == 750)
            #expect(codes.count { $0 == "QUOTA_EXCEEDED" } == 50)
            let saved = try #require(codes.firstIndex { $0 == nil })
            let refused = try #require(codes.firstIndex { $0 != nil })
            func one(_ type: String, _ number: Int, to target: String?, action: String = "DELETE_SELF") -> String {
                Self.operations(type, [number], to: target, action: action)
            }
            #expect(try await Self.codes(rig, one("forceUpdate", saved, to: "list")) == [nil], "an old reference")
            #expect(try await Self.codes(rig, one("create", refused, to: "other list")) == [nil])
            #expect(try await Self.codes(rig, one("create", 800, to: "list", action: "NONE")) == [nil])
            #expect(try await Self.codes(rig, one("create", 801, to: nil)) == [nil])
            let full = try await Self.codes(rig, one("create", 802, to: "list") + "," + one("create", 803, to: nil))
            #expect(full == ["QUOTA_EXCEEDED", nil])
            let swap = one("forceDelete", saved, to: nil) + "," + one("create", 802, to: "list")
            #expect(try await Self.codes(rig, swap) == [nil, nil], "a delete makes room")
        }
    }

    @Test func `an atomic request with a reference too many changes nothing`() async throws {
        try await GatewayRig.with { rig in
            let zone = #","zoneID":{"zoneName":"Work"}"#
            _ = try await rig.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Work"}}}]}"#)
            for first in stride(from: 0, to: 700, by: 100) {
                let codes = try await Self.codes(
                    rig, Self.operations("create", first..<first + 100, to: "list"), zone)
                #expect(codes.allSatisfy { $0 == nil })
            }
            let codes = try await Self.codes(rig, Self.operations("create", 700..<751, to: "list"), zone)
            #expect(codes == Array(repeating: "ATOMIC_ERROR", count: 50) + ["QUOTA_EXCEEDED"])
            let found = try await rig.post(
                "private/records/lookup", #"{"records":[{"recordName":"child700"}]\#(zone)}"#)
            #expect(found["records.0.serverErrorCode"] == "NOT_FOUND", "\(found)")
            #expect(
                try await Self.codes(rig, Self.operations("create", 700..<750, to: "list"), zone)
                    == Array(repeating: nil, count: 50))
        }
    }
}
