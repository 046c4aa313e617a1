import Testing

@testable import PipelineTestKit
@testable import WebServices

@Suite("The gateway: who may write records of the public database", .serialized, .timeLimit(.minutes(3)))
struct PublicRecordsTests {
    /// The answer to an operation on the record `name` of the public database.
    private func write(
        _ operation: String, _ name: String, as user: String, in rig: GatewayRig
    ) async throws -> GatewayRig.Answer {
        try await rig.post(
            "public/records/modify",
            #"{"operations":[{"operationType":"\#(operation)","record":{"recordName":"\#(name)","recordType":"Note","#
                + #""fields":{"by":{"value":"\#(user)"}}}}]}"#, as: user)
    }

    @Test func `only the creator of a public record changes or deletes it`() async throws {
        try await GatewayRig.with { rig in
            func code(_ operation: String, as user: String) async throws -> String? {
                try await write(operation, "board", as: user, in: rig)["records.0.serverErrorCode"]
            }
            let created = try await code("create", as: "_alice")
            #expect(created == nil)
            for operation in ["forceUpdate", "forceReplace", "forceDelete", "update", "delete"] {
                let denied = try await code(operation, as: "_bob")
                #expect(denied == "ACCESS_DENIED", "\(operation)")
            }
            let changed = try await code("forceUpdate", as: "_alice")
            let deleted = try await code("forceDelete", as: "_alice")
            let anew = try await code("forceUpdate", as: "_bob")
            #expect([changed, deleted, anew] == [nil, nil, nil])
        }
    }

    @Test func `two users who write one new record at once do not overwrite each other`() async throws {
        try await GatewayRig.with { rig in
            let operations = ["forceReplace", "forceUpdate", "forceDelete"]
            for round in 0..<45 {
                let (name, operation) = ("race\(round)", operations[round % operations.count])
                async let alice = write("create", name, as: "_alice", in: rig)
                async let bob = write(operation, name, as: "_bob", in: rig)
                let answers = try await (alice, bob)
                let found = try await rig.post(
                    "public/records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#, as: "_alice")
                let users = ["created.userRecordName", "modified.userRecordName", "fields.by.value"].map {
                    found["records.0.\($0)"]
                }
                #expect(Set(users).count == 1 && users[0] != nil, "\(operation): \(answers) \(found)")
            }
        }
    }

    @Test func `a subscription sees the creator of a public record in each change`() async throws {
        try await GatewayRig.with { rig in
            try await rig.post(
                "tokens/register", #"{"apnsEnvironment":"development","apnsToken":"6a0f"}"#, as: "_carol")
            for (user, alert) in [("_alice", "of Alice"), ("_bob", "of Bob")] {
                let subscription =
                    #"{"subscriptionType":"query","firesOn":["create","update","delete"],"query":{"recordType":"Note","#
                    + #""filterBy":[{"comparator":"EQUALS","systemFieldName":"createdUserRecordName","#
                    + #""fieldValue":{"value":"\#(user)"}}]},"notificationInfo":{"alertBody":"\#(alert)"}}"#
                let saved = try await rig.post(
                    "public/subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#, as: "_carol")
                #expect(saved["subscriptions.0.subscriptionID"] != nil, "\(saved)")
            }
            for operation in ["create", "forceUpdate", "forceReplace", "forceDelete"] {
                let written = try await write(operation, "board", as: "_alice", in: rig)
                #expect(written["records.0.recordName"] == "board", "\(written)")
                let push = await rig.pushes.next()
                #expect(push.contains("of Alice"), "\(operation): \(push)")
            }
        }
    }

    @Test func `a public record of the maximum size can be updated`() async throws {
        try await GatewayRig.with { rig in
            func code(_ operation: String, _ name: String = "999", bytes: Int) async throws -> String? {
                let value = String(repeating: "x", count: bytes)
                let answer = try await rig.post(
                    "public/records/modify",
                    #"{"operations":[{"operationType":"\#(operation)","record":{"recordName":"\#(name)","#
                        + #""recordType":"Note","fields":{"t":{"value":"\#(value)"}}}}]}"#)
                return answer["records.0.serverErrorCode"]
            }
            // The most bytes with which a new record is accepted.
            var most = 1_000_000 - 120
            while try await code("create", "\(100 + most % 800)", bytes: most + 1) == nil { most += 1 }
            for operation in ["create", "forceReplace", "forceUpdate"] {
                #expect(try await code(operation, bytes: most) == nil, "\(operation)")
            }
            #expect(try await code("forceReplace", bytes: most + 1) == "QUOTA_EXCEEDED")
        }
    }

    @Test func `forced writes of one user on several devices all succeed`() async throws {
        try await GatewayRig.with { rig in
            let codes = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        try await write("forceUpdate", "board", as: "_alice", in: rig)["records.0.serverErrorCode"]
                    }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(codes == Array(repeating: nil, count: 16))
        }
    }
}
