import Foundation
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// The limits of what a user saves through the gateway, the rules for subscriptions that the gateway itself checks, and
/// the errors in place of single results.
@Suite("The limits of what a user saves", .serialized, .timeLimit(.minutes(3)))
struct UserLimitTests {
    // MARK: Subscriptions

    static func subscription(_ id: String, alert: String = "A note") -> String {
        #"{"subscriptionID":"\#(id)","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"#
            + #""notificationInfo":{"alertBody":"\#(alert)"}}"#
    }

    /// - Parameter operations: Pairs of an operation type and the JSON of a subscription.
    static func modify(
        _ rig: GatewayRig, _ operations: [(type: String, subscription: String)], in database: String = "private"
    ) async throws -> GatewayRig.Answer {
        let list = operations.map { #"{"operationType":"\#($0.type)","subscription":\#($0.subscription)}"# }
        return try await rig.post(
            "\(database)/subscriptions/modify", #"{"operations":[\#(list.joined(separator: ","))]}"#)
    }

    /// The codes of the results, with `nil` for a success.
    private static func codes(_ answer: GatewayRig.Answer, _ key: String) -> [String?] {
        (0..<answer.count(key)).map { answer["\(key).\($0).serverErrorCode"] }
    }

    @Test func `a user has at most 1,000 subscriptions in a database, and may change them`() async throws {
        try await GatewayRig.with { rig in
            for first in stride(from: 0, to: 1_000, by: 200) {
                let saved = try await Self.modify(
                    rig, (first..<(first + 200)).map { ("create", Self.subscription("s\($0)")) })
                #expect(Self.codes(saved, "subscriptions").allSatisfy { $0 == nil }, "\(saved.text.prefix(300))")
            }
            let mixed = try await Self.modify(
                rig,
                [
                    ("create", Self.subscription("s0", alert: "Other")), ("update", Self.subscription("s1")),
                    ("create", Self.subscription("new1")), ("delete", #"{"subscriptionID":"s2"}"#),
                    ("create", Self.subscription("new2")), ("create", Self.subscription("new3")),
                    ("delete", #"{"subscriptionID":"unknown"}"#), ("create", Self.subscription("new4")),
                ])
            let quota = "QUOTA_EXCEEDED"
            #expect(Self.codes(mixed, "subscriptions") == [nil, nil, quota, nil, nil, quota, nil, quota], "\(mixed)")
            #expect(mixed["subscriptions.2.reason"]?.contains("at most 1000 subscriptions") == true, "\(mixed)")
            let list = try await rig.send(
                "GET",
                "/database/1/\(GatewayRig.container)/development/private/subscriptions/list?ckWebAuthToken=_alice")
            #expect(list.count("subscriptions") == 1_000)
            #expect(list["subscriptions.999.subscriptionID"] == "new2", "the newest save comes last")
            let other = try await Self.modify(rig, [("create", Self.subscription("new1"))], in: "public")
            #expect(Self.codes(other, "subscriptions") == [nil], "each database has its own limit: \(other)")
        }
    }

    @Test func `requests at the same time do not exceed the limit together`() async throws {
        try await GatewayRig.with { rig in
            let codes = try await withThrowingTaskGroup(of: [String?].self) { group in
                for request in 0..<8 {
                    group.addTask {
                        let saves = (0..<200).map { ("create", Self.subscription("r\(request)s\($0)")) }
                        return Self.codes(try await Self.modify(rig, saves), "subscriptions")
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(codes.count { $0 == nil } == 1_000 && codes.count { $0 == "QUOTA_EXCEEDED" } == 600)
        }
    }

    @Test func `a subscription has at most 16,000 bytes`() async throws {
        try await GatewayRig.with { rig in
            func subscription(_ id: String, bytes: Int) -> String {
                let missing = bytes - Self.subscription(id, alert: "").utf8.count
                return Self.subscription(id, alert: String(repeating: "x", count: missing))
            }
            let answer = try await Self.modify(
                rig,
                [
                    ("create", subscription("a", bytes: 16_000)), ("create", subscription("b", bytes: 16_001)),
                    ("create", subscription("c", bytes: 1_000_000)), ("create", Self.subscription("d")),
                ])
            let quota = "QUOTA_EXCEEDED"
            #expect(Self.codes(answer, "subscriptions") == [nil, quota, quota, nil], "\(answer.text.suffix(900))")
            for index in 1...2 {
                let reason = answer["subscriptions.\(index).reason"]
                #expect(reason?.hasPrefix("subscription: it has") == true && reason?.contains("16000") == true)
            }
        }
    }

    @Test func `a subscription to a zone of the private database is refused if the zone does not exist`() async throws {
        try await GatewayRig.with { rig in
            func codes() async throws -> [String?] {
                let query = #""subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"]"#
                let answer = try await Self.modify(
                    rig,
                    [
                        #""subscriptionID":"a","subscriptionType":"zone","zoneID":{"zoneName":"Work"}"#,
                        #""subscriptionID":"b",\#(query),"zoneID":{"zoneName":"Work"}"#,
                        #""subscriptionID":"c",\#(query),"zoneID":{"zoneName":"_defaultZone"}"#,
                    ].map { ("create", "{\($0)}") })
                return Self.codes(answer, "subscriptions")
            }
            #expect(try await codes() == ["ZONE_NOT_FOUND", "ZONE_NOT_FOUND", nil])
            try await rig.post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Work"}}}]}"#)
            #expect(try await codes() == [nil, nil, nil])
        }
    }

    @Test func `update changes only a subscription that exists`() async throws {
        try await GatewayRig.with { rig in
            let answer = try await Self.modify(
                rig,
                [
                    ("update", Self.subscription("a")), ("create", Self.subscription("a")),
                    ("update", Self.subscription("a", alert: "Changed")), ("delete", #"{"subscriptionID":"a"}"#),
                    ("update", Self.subscription("a")),
                ])
            #expect(Self.codes(answer, "subscriptions") == ["NOT_FOUND", nil, nil, nil, "NOT_FOUND"], "\(answer)")
            #expect(try await rig.post("private/subscriptions/list").count("subscriptions") == 0)
            let nameless = try await Self.modify(rig, [("update", #"{"subscriptionType":"database"}"#)])
            #expect(nameless.status == 400, "\(nameless)")
            #expect(nameless["reason"]?.contains("operations[0].subscription.subscriptionID") == true, "\(nameless)")
        }
    }

    @Test func `update finds a subscription that another gateway has just saved`() async throws {
        try await GatewayRig.with { rig in
            try await rig.withSecondGateway(store: rig.folder.file("second")) { post in
                for number in 0..<20 {
                    let saved = try await Self.modify(rig, [("create", Self.subscription("s\(number)"))])
                    #expect(Self.codes(saved, "subscriptions") == [nil], "\(saved)")
                    let subscription = Self.subscription("s\(number)", alert: "Other")
                    let updated = try await post(
                        "private/subscriptions/modify",
                        #"{"operations":[{"operationType":"update","subscription":\#(subscription)}]}"#)
                    #expect(Self.codes(updated, "subscriptions") == [nil], "\(updated)")
                }
            }
        }
    }

    @Test func `a lookup answers each ID in order, also an ID that no subscription has`() async throws {
        try await GatewayRig.with { rig in
            _ = try await Self.modify(rig, ["a", "b", "c"].map { ("create", Self.subscription($0)) })
            let found = try await rig.post(
                "private/subscriptions/lookup", #"{"subscriptions":["c",{"subscriptionID":"none"},"a"]}"#)
            #expect((0..<3).map { found["subscriptions.\($0).subscriptionID"] } == ["c", "none", "a"], "\(found)")
            #expect(Self.codes(found, "subscriptions") == [nil, "NOT_FOUND", nil], "\(found)")
        }
    }

    // MARK: Zones

    @Test func `a user has at most 1,000 zones`() async throws {
        try await GatewayRig.with { rig in
            func modify(_ operations: [(type: String, zone: String)]) async throws -> GatewayRig.Answer {
                let list = operations.map {
                    #"{"operationType":"\#($0.type)","zone":{"zoneID":{"zoneName":"\#($0.zone)"}}}"#
                }
                return try await rig.post(
                    "private/zones/modify", #"{"operations":[\#(list.joined(separator: ","))]}"#)
            }
            for first in stride(from: 0, to: 1_000, by: 200) {
                let saved = try await modify((first..<(first + 200)).map { ("create", "Z\($0)") })
                #expect(Self.codes(saved, "zones").allSatisfy { $0 == nil }, "\(saved.text.prefix(300))")
            }
            let mixed = try await modify([
                ("create", "Z0"), ("create", "New1"), ("delete", "Z1"), ("create", "New2"), ("create", "New3"),
                ("create", "_defaultZone"),
            ])
            let quota = "QUOTA_EXCEEDED"
            #expect(Self.codes(mixed, "zones") == [nil, quota, nil, nil, quota, "BAD_REQUEST"], "\(mixed)")
            #expect(mixed["zones.1.reason"]?.contains("at most 1000 zones") == true, "\(mixed)")
            #expect(try await rig.post("private/zones/list").count("zones") == 1_001)
            let found = try await rig.post(
                "private/zones/lookup",
                #"{"zones":[{"zoneName":"New2"},{"zoneName":"New2","ownerRecordName":"_alice"},{"zoneName":"New1"},"#
                    + #"{"zoneName":"_defaultZone"}]}"#)
            #expect(Self.codes(found, "zones") == [nil, nil, "ZONE_NOT_FOUND", nil], "\(found)")
        }
    }

    // MARK: Errors

    @Test func `if an ID is too long, the error names the member as the client's request does`() async throws {
        try await GatewayRig.with { rig in
            let long = String(repeating: "a", count: 300)
            for (type, subscription) in [
                ("create", Self.subscription(long)), ("delete", #"{"subscriptionID":"\#(long)"}"#),
                ("delete", #"{"subscriptionID":"\#(String(repeating: "a", count: 2_000_000))"}"#),
            ] {
                let answer = try await Self.modify(rig, [(type, subscription)])
                let reason = answer["subscriptions.0.reason"]
                #expect(reason?.hasPrefix("subscription.subscriptionID: ") == true, "\(reason ?? "")")
                #expect(Self.codes(answer, "subscriptions") == ["BAD_REQUEST"])
            }
        }
    }

    @Test func `each error in place of a result has the UUID of the HTTP request`() async throws {
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "n1")
            let none = #""zoneID":{"zoneName":"None"}"#
            let requests: [(endpoint: String, body: String, key: String)] = [
                (
                    "records/modify",
                    #"{"operations":[{"operationType":"create","record":{"recordName":"n1","recordType":"Note"}}]}"#,
                    "records"
                ),
                ("records/lookup", #"{"records":[{"recordName":"none"}]}"#, "records"),
                ("changes/zone", #"{"zones":[{\#(none)}]}"#, "zones"),
                ("zones/lookup", #"{"zones":[{\#(none)}]}"#, "zones"),
                ("zones/modify", #"{"operations":[{"operationType":"delete","zone":{\#(none)}}]}"#, "zones"),
                ("subscriptions/lookup", #"{"subscriptions":["none"]}"#, "subscriptions"),
                (
                    "subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionType":"none"}}]}"#,
                    "subscriptions"
                ),
            ]
            for (endpoint, body, key) in requests {
                let answer = try await rig.post("private/\(endpoint)", body)
                #expect(answer["\(key).0.serverErrorCode"] != nil, "\(endpoint): \(answer)")
                let uuid = answer["\(key).0.uuid"]
                #expect(uuid?.count == 36 && uuid == answer.headers["x-apple-request-uuid"], "\(endpoint): \(answer)")
            }
        }
    }
}
