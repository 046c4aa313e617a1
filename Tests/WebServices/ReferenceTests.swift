import Testing

@testable import PipelineTestKit
@testable import WebServices

/// The references of records at the gateway: the parent, and references in fields without a type.
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
}
