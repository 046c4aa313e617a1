import Foundation
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// Tests `notifications/changes` and `notifications/read` with a real courier. Tests `notifications/changes` also with
/// a fake courier, with an unreachable courier and without a courier.
@Suite("Notifications at the gateway", .timeLimit(.minutes(3)))
struct NotificationsTests {
    private static let subscription =
        #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"notes","subscriptionType":"query","#
        + #""query":{"recordType":"Note"},"firesOn":["create"],"notificationInfo":{"alertBody":"A note"}}}]}"#

    private static func withCourier(_ body: (GatewayRig) async throws -> Void) async throws {
        let port = try ReservedPort(forServer: true)
        let address = "127.0.0.1:\(port.number)"
        try await GatewayRig.with(
            #", courier: "http://\#(address)""#, courier: #"{use: courier, listen: "\#(address)"}"#, body)
    }

    @Test func `notifications are fetched since a sync token and marked as read`() async throws {
        try await Self.withCourier { rig in
            func changes(_ token: String? = nil) async throws -> GatewayRig.Answer {
                try await rig.post(
                    "private/notifications/changes", token.map { #"{"syncToken":"\#($0)"}"# } ?? "{}")
            }
            let early = try await changes()
            #expect(early["serverErrorCode"] == "BAD_REQUEST" && early["reason"]?.contains("tokens/create") == true)
            _ = try await rig.post("tokens/create", #"{"apnsEnvironment":"development","clientId":"browser"}"#)
            _ = try await rig.post("private/subscriptions/modify", Self.subscription)
            _ = try await rig.modify("create", "n1")
            var first = try await changes()
            for _ in 0..<500 where first.count("notifications") == 0 {
                try await Task.sleep(for: .milliseconds(10))
                first = try await changes()
            }
            #expect(first["notifications.0.payload.ck.qry.rid"] == "n1" && first["notifications.0.isRead"] == "0")
            let (id, token) = (
                try #require(first["notifications.0.notificationID"]), try #require(first["syncToken"])
            )
            let nothing = try await changes(token)
            #expect(nothing.count("notifications") == 0 && nothing["moreComing"] == "0", "\(nothing)")
            let read = try await rig.post(
                "private/notifications/read", #"{"notificationIDs":["\#(id)","unknown"]}"#)
            #expect(read["notificationIDs.0"] == id && read["unknown.0"] == "unknown", "\(read)")
            let after = try await changes(token)
            #expect(after["notifications.0.notificationID"] == id && after["notifications.0.isRead"] == "1")

            let other = try await rig.post("private/notifications/changes", as: "_bob")
            #expect(other["serverErrorCode"] == "BAD_REQUEST", "_bob has no device at the courier: \(other)")
            #expect(try await changes("none of ours")["serverErrorCode"] == "BAD_REQUEST")
            let expired = try await changes("0-1-1")
            #expect(expired.status == 410 && expired["serverErrorCode"] == "CHANGE_TOKEN_EXPIRED", "\(expired)")
        }
    }

    @Test func `the JSON with the IDs of the notifications to mark as read may have up to 65,536 bytes`() async throws {
        try await Self.withCourier { rig in
            _ = try await rig.post("tokens/create", #"{"apnsEnvironment":"development","clientId":"browser"}"#)
            func body(bytes: Int) -> String {
                var ids = (0..<300).map { "\($0 + 100)" + String(repeating: "x", count: 197) }
                func text() -> String { #"{"notificationIDs":["\#(ids.joined(separator: #"",""#))"]}"# }
                ids.append(String(repeating: "x", count: bytes - text().utf8.count - 3))
                return text()
            }
            var fitting = try await rig.post("private/notifications/read", body(bytes: 65_536))
            // The courier learns of the device a moment after its registration.
            for _ in 0..<500 where fitting["reason"]?.contains("does not know the user's devices") == true {
                try await Task.sleep(for: .milliseconds(10))
                fitting = try await rig.post("private/notifications/read", body(bytes: 65_536))
            }
            #expect(fitting.status == 200 && fitting.count("unknown") == 301, "\(fitting.text.prefix(300))")
            let refused = try await rig.post("private/notifications/read", body(bytes: 65_537))
            #expect(refused.status == 400 && refused["serverErrorCode"] == "BAD_REQUEST", "\(refused)")
            #expect(refused["reason"]?.hasPrefix("notificationIDs: ") == true && refused.text.contains("65536"))
        }
    }

    @Test func `a device whose courier token the courier does not know is passed over`() async throws {
        let known = Mutex<Set<String>>([])
        let asked = Mutex<[String]>([])
        let options = WebServerOptions(host: "127.0.0.1", port: 0)
        let courier = try await WebServer.start(options) { request in
            let token = request.path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
            asked.withLock { $0.append(token) }
            guard known.withLock({ $0.contains(token) }) else { return WebResponse(status: .forbidden) }
            let page = #"{"notifications":[],"serverChangeToken":"a-1-2","moreComing":false}"#
            return WebResponse(status: .ok, body: page.utf8)
        }
        try await GatewayRig.with(#", courier: "http://127.0.0.1:\#(courier.port)""#) { rig in
            var tokens: [String] = []
            for device in ["browser", "mac", "tv"] {
                let made = try await rig.post(
                    "tokens/create", #"{"apnsEnvironment":"development","clientId":"\#(device)"}"#)
                tokens.append(try #require(made["apnsToken"]))
            }
            let early = try await rig.post("private/notifications/changes")
            #expect(early.status == 503 && early["reason"]?.contains("does not know the user's devices") == true)
            #expect(asked.withLock { $0 } == tokens)
            known.withLock { $0 = [tokens[1]] }
            let answer = try await rig.post("private/notifications/changes")
            #expect(answer.status == 200 && answer["syncToken"] == "a-1-2", "\(answer)")
            #expect(asked.withLock { Array($0.dropFirst(3)) } == tokens.dropLast())
        }
        try await courier.stop(within: .seconds(30))
    }

    @Test func `the answer names the setting if no courier is set, and asks for a retry if the courier is unreachable`()
        async throws
    {
        try await GatewayRig.with { rig in
            let answer = try await rig.post("private/notifications/changes")
            #expect(answer.status == 400 && answer["reason"]?.contains("`courier` under `api`") == true, "\(answer)")
        }
        let nobody = try ReservedPort()
        try await GatewayRig.with(#", courier: "http://127.0.0.1:\#(nobody.number)""#) { rig in
            _ = try await rig.post("tokens/create", #"{"apnsEnvironment":"development"}"#)
            let answer = try await rig.post("private/notifications/changes")
            #expect(answer.status == 503 && answer["retryAfter"] == "1", "\(answer)")
        }
    }
}
