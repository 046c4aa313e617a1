import Foundation
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// The gateway in front of a whole pipeline.
@Suite("The gateway", .serialized, .timeLimit(.minutes(3)))
struct GatewayTests {
    // MARK: Records

    @Test func `a client reads what it wrote, by name and by query`() async throws {
        try await GatewayRig.with { rig in
            let saved = try await rig.modify("create", "n1")
            #expect(saved.status == 200 && saved["records.0.recordName"] == "n1", "\(saved)")
            let tag = try #require(saved["records.0.recordChangeTag"])
            #expect(saved["records.0.created.userRecordName"] == "_alice")
            let found = try await rig.post("private/records/lookup", #"{"records":[{"recordName":"n1"}]}"#)
            #expect(found["records.0.recordChangeTag"] == tag && found["records.0.fields.title.value"] == "Hi")
            let query = try await rig.post(
                "private/records/query",
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"title","#
                    + #""fieldValue":{"value":"Hi"}}]}}"#)
            #expect(query.count("records") == 1 && query["records.0.recordName"] == "n1", "\(query)")
        }
    }

    @Test func `without a sync token, all records of a zone are returned; with it, later changes and deletions`()
        async throws
    {
        try await GatewayRig.with { rig in
            try await rig.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Work"}}}]}"#)
            let first = try await rig.modify("create", "n1", zone: "Work")
            _ = try await rig.modify("create", "n2", zone: "Work")
            let zone = #""zoneID":{"zoneName":"Work"}"#
            let all = try await rig.post("private/changes/zone", #"{"zones":[{\#(zone)}]}"#)
            #expect(
                all["zones.0.records.0.recordName"] == "n1" && all["zones.0.records.1.recordName"] == "n2", "\(all)")
            #expect(all["zones.0.moreComing"] == "0")
            let token = try #require(all["zones.0.syncToken"])
            let tag = try #require(first["records.0.recordChangeTag"])
            let deleted = try await rig.modify("delete", "n1", tag: tag, fields: nil, zone: "Work")
            #expect(deleted["records.0.deleted"] == "1", "\(deleted)")
            let after = try await rig.post("private/records/changes", #"{\#(zone),"syncToken":"\#(token)"}"#)
            #expect(after.count("records") == 1 && after["records.0.deleted"] == "1", "\(after)")
            let zones = try await rig.post("private/changes/database")
            #expect(zones.count("zones") == 1 && zones["zones.0.zoneID.zoneName"] == "Work", "\(zones)")
        }
    }

    @Test func `the limits of an answer hold for all its zones together`() async throws {
        try await GatewayRig.with { rig in
            let zone = #""zoneID":{"zoneName":"Work"}"#
            try await rig.post(
                "private/zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
            let text = String(repeating: "x", count: 900_000)
            let saved = try await rig.modify("create", "n1", fields: #"{"text":{"value":"\#(text)"}}"#, zone: "Work")
            #expect(saved["records.0.recordChangeTag"] != nil, "\(saved.text.suffix(300))")
            func changes(_ count: Int, limit: Int) async throws -> [[String: Any]] {
                let zones = Array(repeating: "{\(zone)}", count: count).joined(separator: ",")
                let answer = try await rig.post(
                    "private/changes/zone", #"{"zones":[\#(zones)],"resultsLimit":\#(limit)}"#)
                let json = try JSONSerialization.jsonObject(with: Data(answer.text.utf8)) as? [String: Any]
                return try #require(json?["zones"] as? [[String: Any]], "\(answer.text.prefix(300))")
            }
            func counts(_ zones: [[String: Any]]) -> [Int] { zones.map { ($0["records"] as? [Any])?.count ?? -1 } }

            #expect(counts(try await changes(3, limit: 2)) == [1, 1, 0])
            // With the 19th copy of the record, the fields of the answer exceed 16 MiB.
            let zones = try await changes(21, limit: 200)
            #expect(counts(zones) == Array(repeating: 1, count: 19) + [0, 0])
            #expect(zones.map { $0["moreComing"] as? Bool } == counts(zones).map { $0 == 0 })
            let token = try #require(zones.last?["syncToken"] as? String)
            let rest = try await rig.post("private/records/changes", #"{\#(zone),"syncToken":"\#(token)"}"#)
            #expect(rest.count("records") == 1 && rest["moreComing"] == "0", "\(rest.text.suffix(300))")

            for number in 2...10 {
                let fields = #"{"text":{"value":"\#(text)"}}"#
                _ = try await rig.modify("create", "n\(number)", fields: fields, zone: "Work")
            }
            #expect(counts(try await changes(4, limit: 200)) == [10, 8, 1, 0])
        }
    }

    @Test func `each operation follows the rules of change tags`() async throws {
        try await GatewayRig.with { rig in
            let created = try await rig.modify("create", "n1")
            let tag = try #require(created["records.0.recordChangeTag"])
            func code(_ operation: String, _ name: String, tag: String? = nil) async throws -> String? {
                try await rig.modify(operation, name, tag: tag)["records.0.serverErrorCode"]
            }
            #expect(try await code("create", "n1") == "CONFLICT")
            #expect(try await code("update", "n1") == "CONFLICT")
            #expect(try await code("update", "n1", tag: "0") == "CONFLICT")
            #expect(try await code("update", "none", tag: tag) == "NOT_FOUND")
            #expect(try await code("delete", "none", tag: tag) == "NOT_FOUND")
            #expect(try await code("delete", "n1", tag: "0") == "CONFLICT")
            #expect(try await code("forceDelete", "none") == nil)
            #expect(try await code("update", "n1", tag: tag) == nil)
            #expect(try await code("replace", "n1", tag: tag) == "CONFLICT")
            #expect(try await code("forceReplace", "n1") == nil)
            #expect(try await code("forceUpdate", "n2") == nil)
        }
    }

    @Test func `a refused operation makes an atomic request fail, but not a request that is not atomic`() async throws {
        try await GatewayRig.with { rig in
            let zone = #""zoneID":{"zoneName":"Work"}"#
            try await rig.post(
                "private/zones/modify", #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
            _ = try await rig.modify("create", "n2", zone: "Work")
            func create(_ name: String) -> String {
                #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","fields":{}}}"#
            }
            let operations = ["n1", "n2", "n3"].map(create).joined(separator: ",")
            let refused = try await rig.post(
                "private/records/modify", #"{"operations":[\#(operations)],\#(zone),"atomic":true}"#)
            let codes = (0..<3).map { refused["records.\($0).serverErrorCode"] }
            #expect(codes == ["ATOMIC_ERROR", "CONFLICT", "ATOMIC_ERROR"], "\(refused)")
            let mixed = try await rig.post(
                "private/records/modify", #"{"operations":[\#(operations)],\#(zone),"atomic":false}"#)
            #expect((0..<3).map { mixed["records.\($0).serverErrorCode"] } == [nil, "CONFLICT", nil], "\(mixed)")
        }
    }

    @Test func `a request is atomic if its records name one custom zone, and cannot be atomic in two`() async throws {
        try await GatewayRig.with { rig in
            let zones = ["Work", "Home"].map { #"{"operationType":"create","zone":{"zoneID":{"zoneName":"\#($0)"}}}"# }
            try await rig.post("private/zones/modify", #"{"operations":[\#(zones.joined(separator: ","))]}"#)
            _ = try await rig.modify("create", "n2", zone: "Work")
            func create(_ name: String, in zone: String) -> String {
                #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","fields":{},"#
                    + #""zoneID":{"zoneName":"\#(zone)"}}}"#
            }
            func codes(_ operations: [String], _ members: String = "") async throws -> [String?] {
                let body = #"{"operations":[\#(operations.joined(separator: ","))]\#(members)}"#
                let answer = try await rig.post("private/records/modify", body)
                return operations.indices.map { answer["records.\($0).serverErrorCode"] ?? answer["serverErrorCode"] }
            }
            let oneZone = try await codes([create("n1", in: "Work"), create("n2", in: "Work")])
            #expect(oneZone == ["ATOMIC_ERROR", "CONFLICT"])
            let twoZones = [create("n1", in: "Home"), create("n2", in: "Work")]
            #expect(try await codes(twoZones, #","atomic":true"#) == ["BAD_REQUEST", "BAD_REQUEST"])
            #expect(try await codes(twoZones) == [nil, "CONFLICT"])
            #expect(try await codes([create("n1", in: "_defaultZone")], #","atomic":true"#) == [nil])
        }
    }

    @Test func `a record cannot be created in an unknown zone, and a deleted zone loses its records`() async throws {
        try await GatewayRig.with { rig in
            let lost = try await rig.modify("create", "n1", zone: "Nowhere")
            #expect(lost["records.0.serverErrorCode"] == "ZONE_NOT_FOUND", "\(lost)")
            func zone(_ operation: String) async throws -> GatewayRig.Answer {
                try await rig.post(
                    "private/zones/modify",
                    #"{"operations":[{"operationType":"\#(operation)","zone":{"zoneID":{"zoneName":"Work"}}}]}"#)
            }
            _ = try await zone("create")
            _ = try await rig.modify("create", "n1", zone: "Work")
            #expect(try await zone("delete")["zones.0.deleted"] == "1")
            let gone = try await rig.post(
                "private/records/lookup", #"{"records":[{"recordName":"n1"}],"zoneID":{"zoneName":"Work"}}"#)
            #expect(gone["serverErrorCode"] == "ZONE_NOT_FOUND" && gone.status == 404, "\(gone)")
            _ = try await zone("create")
            #expect(try await rig.modify("create", "n1", zone: "Work")["records.0.serverErrorCode"] == nil)
        }
    }

    @Test func `a record whose DELETE_SELF reference loses its target is deleted`() async throws {
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "list")
            let item = try await rig.modify(
                "create", "item",
                fields: #"{"list":{"value":{"recordName":"list","action":"DELETE_SELF"},"type":"REFERENCE"}}"#)
            #expect(item["records.0.serverErrorCode"] == nil, "\(item)")
            _ = try await rig.modify("forceDelete", "list", fields: nil)
            var isStored = true
            while isStored {
                let found = try await rig.post("private/records/lookup", #"{"records":[{"recordName":"item"}]}"#)
                isStored = found["records.0.serverErrorCode"] == nil
            }
        }
    }

    // MARK: Subscriptions and devices

    @Test func `a subscription saved over the web leads to a push on another device`() async throws {
        try await GatewayRig.with { rig in
            for (device, token) in [("phone", "6a0f"), ("mac", "77B1")] {
                let registered = try await rig.post(
                    "tokens/register",
                    #"{"apnsEnvironment":"development","apnsToken":"\#(token)","clientId":"\#(device)"}"#)
                #expect(registered.status == 200, "\(registered)")
            }
            let saved = try await rig.post(
                "private/subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","#
                    + #""subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"#
                    + #""notificationInfo":{"alertBody":"A note"}}}]}"#)
            #expect(saved["subscriptions.0.subscriptionID"] == "all", "\(saved)")
            #expect(try await rig.post("private/subscriptions/list").count("subscriptions") == 1)
            try await rig.post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{}}}]}"#,
                query: "&clientId=mac")
            let push = await rig.pushes.next()
            #expect(push.contains(#""device":"phone""#) && push.contains("A note"), "\(push)")
        }
    }

    @Test func `a client without APNs gets a token and the courier's address`() async throws {
        try await GatewayRig.with(#", courier: "http://127.0.0.1:7480""#) { rig in
            let made = try await rig.post(
                "tokens/create", #"{"apnsEnvironment":"development","clientId":"browser"}"#)
            let token = try #require(made["apnsToken"])
            #expect(token.count == 64 && made["webcourierURL"] == "http://127.0.0.1:7480/courier/\(token)", "\(made)")
        }
    }

    // MARK: Who may do what

    @Test func `requests for another user's zones or records neither show nor delete the records`() async throws {
        try await GatewayRig.with { rig in
            let zone = #"{"zoneName":"Secret","ownerRecordName":"_alice"}"#
            try await rig.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":\#(zone)}}]}"#)
            _ = try await rig.modify("create", "secret", fields: #"{"title":{"value":"xyzzy"}}"#, zone: "Secret")
            _ = try await rig.modify("create", "secret", fields: #"{"title":{"value":"xyzzy"}}"#)
            let attempts: [(String, String)] = [
                ("records/lookup", #"{"records":[{"recordName":"secret"}]}"#),
                ("records/lookup", #"{"records":[{"recordName":"secret"}],"zoneID":\#(zone)}"#),
                ("records/query", #"{"query":{"recordType":"Note"},"zoneWide":true}"#),
                ("records/query", #"{"query":{"recordType":"Note"},"zoneID":\#(zone)}"#),
                ("records/changes", #"{"zoneID":\#(zone)}"#), ("changes/zone", #"{"zones":[{"zoneID":\#(zone)}]}"#),
                ("changes/database", "{}"), ("zones/list", "{}"), ("zones/changes", "{}"),
                ("zones/lookup", #"{"zones":[\#(zone)]}"#),
                ("zones/modify", #"{"operations":[{"operationType":"delete","zone":{"zoneID":\#(zone)}}]}"#),
                (
                    "records/modify",
                    #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"secret","#
                        + #""zoneID":\#(zone)}}]}"#
                ),
            ]
            for database in ["private", "shared"] {
                for (endpoint, body) in attempts {
                    let answer = try await rig.post("\(database)/\(endpoint)", body, as: "_bob")
                    #expect(!answer.text.contains("xyzzy"), "\(database)/\(endpoint): \(answer)")
                }
            }
            let mine = try await rig.post(
                "private/records/lookup", #"{"records":[{"recordName":"secret"}],"zoneID":\#(zone)}"#)
            #expect(mine["records.0.fields.title.value"] == "xyzzy", "\(mine)")
        }
    }

    @Test func `a client that has not signed in reads the public database and writes nothing`() async throws {
        try await GatewayRig.with { rig in
            let read = try await rig.post("public/records/query", #"{"query":{"recordType":"Note"}}"#, as: nil)
            #expect(read.status == 200, "\(read)")
            let write = try await rig.post(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{}}}]}"#, as: nil)
            #expect(write.status == 421 && write["serverErrorCode"] == "AUTHENTICATION_REQUIRED", "\(write)")
            #expect(try await rig.post("private/zones/list", as: nil).status == 421)
        }
    }

    @Test func `a line feed in a client's JSON does not start another command`() async throws {
        try await GatewayRig.with { rig in
            let command =
                #"{"type":"records.modify","container":"\#(GatewayRig.container)","environment":"development","#
                + #""database":"private","owner":"_bob","operations":[{"operationType":"create","record":{"#
                + #""recordName":"injected","recordType":"Note","fields":{}}}]}"#
            _ = try await rig.modify("create", "n1", fields: "{\"f\":{\"value\":[\n\(command)\n]}}")
            try await rig.post(
                "private/subscriptions/modify",
                "{\"operations\":[{\"operationType\":\"create\",\"subscription\":{\"x\":[\r\n\(command)\r\n]}}]}")
            let pretty = try await rig.modify("create", "n2", fields: "{\r\n\"l\": {\n\"value\": [\n1,\n2\n]\n}\n}")
            #expect(pretty["records.0.recordChangeTag"] != nil, "\(pretty)")
            let found = try await rig.post("private/records/query", #"{"query":{"recordType":"Note"}}"#, as: "_bob")
            #expect(found.status == 200 && found.count("records") == 0, "\(found)")
        }
    }

    // MARK: Bad input

    @Test func `each wrong request gets CloudKit's status and a reason that names the mistake`() async throws {
        try await GatewayRig.with { rig in
            let cases: [(endpoint: String, body: String, status: Int, reason: String)] = [
                ("private/records/modify", "{", 400, "cannot be read as JSON"),
                ("private/records/modify", "[]", 400, "not a JSON object"),
                ("private/records/modify", "{}", 400, "operations"),
                ("private/records/modify", #"{"operations":[]}"#, 400, "operations"),
                ("private/records/modify", #"{"operations":[{}]}"#, 400, "operations[0].operationType"),
                (
                    "private/records/modify", #"{"operations":[{"operationType":"upsert"}]}"#, 400,
                    "operations[0].operationType"
                ),
                ("private/records/lookup", #"{"records":[{}]}"#, 400, "records[0].recordName"),
                ("private/records/query", "{}", 400, "query: is required: send an object with a recordType"),
                ("private/records/query", #"{"query":{}}"#, 400, "query.recordType: is required: name the type"),
                ("private/records/query", #"{"query":{"recordType":7}}"#, 400, "query.recordType: a record type has"),
                (
                    "private/records/query", #"{"query":{"recordType":"Note"},"continuationMarker":"x"}"#, 400,
                    "continuationMarker"
                ),
                ("private/changes/zone", #"{"zones":[{"zoneID":7}]}"#, 400, "zones[0].zoneID"),
                (
                    "private/assets/upload",
                    #"{"tokens":[{"fieldName":"file","recordType":"Note"}],"zoneID":{"ownerRecordName":"0"}}"#, 400,
                    "zoneID.zoneName"
                ),
                (
                    "private/records/changes", #"{"zoneID":{"zoneName":"_defaultZone"},"syncToken":"x"}"#, 400,
                    "syncToken"
                ),
                ("private/subscriptions/modify", #"{"operations":[{"operationType":"create"}]}"#, 400, "subscription"),
                ("private/zones/list", "[]", 400, "not a JSON object"),
                (
                    "private/records/modify",
                    #"{"operations":[{"operationType":"create","record":{"recordType":"Photo","fields":{"file":{"value":"#
                        + #"{"file\u0043hecksum":"\#(String(repeating: "0", count: 64))"}}}}}]}"#,
                    400, "record.fields.file.value.receipt"
                ),
                ("public/zones/modify", "{}", 400, "endpoint not applicable in the database type 'publicdb'"),
                ("private/records/nothing", "{}", 404, "could not find handler for endpoint"),
                ("tokens/create", "{}", 400, "courier"), ("tokens/register", "{}", 400, "apnsEnvironment"),
            ]
            for (endpoint, body, status, reason) in cases {
                let answer = try await rig.post(endpoint, body)
                #expect(answer.status == status, "\(endpoint) \(body): \(answer)")
                #expect(answer["reason"]?.contains(reason) == true, "\(endpoint) \(body): \(answer)")
                #expect(answer["uuid"]?.isEmpty == false)
            }
        }
    }

    @Test func `a request whose Host or Origin header names another site is refused`() async throws {
        try await GatewayRig.with { rig in
            let target = "/database/1/\(GatewayRig.container)/development/private/users/current?ckWebAuthToken=_alice"
            let cases = [
                ("Host: 127.0.0.1:7490\r\n", 200), ("Host: localhost\r\n", 200), ("", 400),
                ("Host: evil.example\r\n", 403), ("Host: 127.0.0.1.evil.example\r\n", 403),
                ("Host: localhost\r\nHost: evil.example\r\n", 400),
                ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
            ]
            for (headers, status) in cases {
                let client = try rig.connectRawClient()
                client.send("GET \(target) HTTP/1.1\r\n\(headers)\r\n")
                #expect(await client.statuses(1) == [status], "\(headers)")
            }
        }
    }

    @Test func `the answer to a request that the HTTP server refuses has a request ID, too`() async throws {
        try await GatewayRig.with { rig in
            for request in [
                "GET / HTTP/9.9\r\n\r\n",
                "GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n",
            ] {
                let client = try rig.connectRawClient()
                client.send(request)
                client.closeSending()
                let answer = await client.rest()
                #expect(answer.contains(#/"uuid":"[0-9a-f-]{36}"/#), "\(request.prefix(40)): \(answer)")
            }
        }
    }

    @Test func `a write with an invalid clientId is refused, and the reason names clientId`() async throws {
        try await GatewayRig.with { rig in
            let refused = try await rig.post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"n1","recordType":"Note"}}]}"#,
                query: "&clientId=" + String(repeating: "a", count: 300))
            #expect(refused.status == 400 && refused["serverErrorCode"] == "BAD_REQUEST", "\(refused)")
            #expect(refused["reason"]?.hasPrefix("clientId: ") == true, "\(refused)")
        }
    }

    @Test func `unknown members of a zone ID are dropped, and an atomic request that is too large is refused`()
        async throws
    {
        try await GatewayRig.with { rig in
            let name = String(repeating: "z", count: 255)
            try await rig.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#)
            func save(bytes: Int, junk: Int) async throws -> GatewayRig.Answer {
                let text = String(repeating: "x", count: bytes)
                let operations = (0..<200).map { number in
                    #"{"operationType":"forceReplace","record":{"recordName":"n\#(number)","recordType":"Note","#
                        + #""fields":{"f":{"value":"\#(text)"}}}}"#
                }
                return try await rig.post(
                    "private/records/modify",
                    #"{"operations":[\#(operations.joined(separator: ","))],"zoneID":{"zoneName":"\#(name)","junk":""#
                        + String(repeating: "x", count: junk) + #""}}"#)
            }
            let saved = try await save(bytes: 10, junk: 1_000_000)
            #expect(saved.status == 200 && saved["records.199.recordChangeTag"] != nil, "\(saved.text.prefix(500))")
            let refused = try await save(bytes: 19_700, junk: 0)
            #expect(refused.status == 413, "\(refused.text.prefix(500))")
            #expect(refused["serverErrorCode"] == "QUOTA_EXCEEDED")
            #expect(try await rig.modify("create", "n1")["records.0.recordChangeTag"] != nil)
        }
    }

    @Test func `when the gateway stops, a write that still waits for ingest gets an answer`() async throws {
        try await GatewayRig.with { rig in
            rig.process.stop()
            try await Task.sleep(for: .seconds(1))
            async let answer = rig.modify("create", "n1")
            // A busy machine may need a while to read the request.
            try await Task.sleep(for: .seconds(1))
            rig.gateway.stop()
            let answered = try await answer
            #expect(answered.status == 503 && answered["serverErrorCode"] == "TRY_AGAIN_LATER", "\(answered)")
        }
    }

    @Test func `the OpenAPI document lists each path with its methods`() async throws {
        try await GatewayRig.with { rig in
            let document = try await rig.send("GET", "/openapi.json")
            let json = try JSONSerialization.jsonObject(with: Data(document.text.utf8)) as? [String: Any]
            let paths = try #require(json?["paths"] as? [String: [String: Any]])
            var expected = Dictionary(
                uniqueKeysWithValues: Operation.allCases.map {
                    ("/database/1/{container}/{environment}/{database}/\($0.rawValue)", Set($0.methods))
                })
            for operation in ["create", "register"] {
                expected["/device/1/{container}/{environment}/tokens/\(operation)"] = ["POST"]
            }
            expected["/auth/1/{container}/{environment}/signin"] = ["POST"]
            expected["/assets/{ticket}"] = ["GET", "POST", "PUT"]
            #expect(
                paths.mapValues { Set($0.keys).subtracting(["parameters"]) }
                    == expected.mapValues { Set($0.map { $0.lowercased() }) })
            for path in expected.keys {
                let target = path.replacing("{container}", with: "iCloud.com.example.A")
                    .replacing("{environment}", with: "production").replacing("{database}", with: "private")
                    .replacing("{ticket}", with: "t")
                #expect(try await rig.send("PATCH", target).status == 405, "PATCH \(target)")
            }
        }
    }
}
