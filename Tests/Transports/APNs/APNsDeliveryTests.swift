import Foundation
import LocalAPNs
import PipelineKit
import Testing
import Time

@testable import TransportAPNs

/// Tests the transport with a local APNs, over TLS.
@Suite(.timeLimit(.minutes(5))) struct APNsDelivery {
    @Test func `a push arrives unchanged`() async throws {
        try await APNsRig.with { rig in
            let answers = await rig.deliver(apnsPush(7, collapse: "c", expiration: "4102444800"))
            #expect(answers.map(\.outcome) == [.accepted] && answers[0].status == 200 && answers[0].attempts == 1)
            let request = try #require(rig.apns.received.first)
            #expect(request.token == "00ff" && request.topic == "com.example.Notes")
            #expect(request.id == "976ec45b-c157-8d46-a9cc-000000000007")
            #expect(String(decoding: request.body, as: UTF8.self) == #"{"aps":{"alert":"Hi"}}"#)
            #expect(request.header("apns-collapse-id") == "c" && request.header("apns-expiration") == "4102444800")
            #expect(request.header("apns-push-type") == "alert" && request.header("apns-priority") == "10")
            #expect(request.warnings.isEmpty, "\(request.warnings)")
            #expect(answers[0].receipt?.isEmpty == false, "a development server sends apns-unique-id")
        }
    }

    @Test func `many pushes share few connections, and all are accepted`() async throws {
        try await APNsRig.with("connections: 2", streams: 20) { rig in
            let answers = await rig.deliverUntilFinal(
                (1...2_000).map { apnsPush($0, token: String(format: "%064x", $0)) })
            #expect(answers.count == 2_000 && answers.allSatisfy { $0.outcome == .accepted })
            #expect(Set(rig.apns.received.map(\.id)).count == 2_000)
            #expect(Set(rig.apns.received.map(\.connection)).count <= 2)
        }
    }

    @Test func `an app can use a certificate instead of provider tokens`() async throws {
        try await APNsRig.with("certificate") { rig in
            #expect(await rig.deliver(apnsPush(1)).map(\.outcome) == [.accepted])
            #expect(rig.apns.received.first?.keyID == nil)
        }
    }

    @Test(arguments: [
        (#"{"status":410,"reason":"Unregistered","timestamp":1700000000000}"#, TransportAnswer.Outcome.unregistered),
        (#"{"status":400,"reason":"BadDeviceToken"}"#, .unknownAddress),
        (#"{"status":400,"reason":"DeviceTokenNotForTopic"}"#, .unknownAddress),
        (#"{"status":413,"reason":"PayloadTooLarge"}"#, .failed),
        (#"{"status":403,"reason":"InvalidProviderToken"}"#, .stopped),
        (#"{"status":400,"reason":"BadTopic"}"#, .stopped),
        (#"{"status":400,"reason":"TopicDisallowed"}"#, .stopped),
        (#"{"status":403,"reason":"ExpiredProviderToken"}"#, .stopped),
        (#"{"status":429,"reason":"TooManyRequests"}"#, .deferred),
        (#"{"status":500,"reason":"InternalServerError"}"#, .deferred),
        (#"{"status":503,"reason":"Shutdown"}"#, .deferred),
        (#"{"status":429,"reason":"TooManyProviderTokenUpdates"}"#, .deferred),
        (#"{"status":400,"reason":"FromTheFuture"}"#, .failed),
    ])
    func `an answer gets the right outcome, and is reported with its status and reason, word for word`(
        _ answer: String, _ outcome: TransportAnswer.Outcome
    ) async throws {
        try await APNsRig.with(script: [#"{"do":\#(answer)}"#]) { rig in
            let reported = await rig.deliver(apnsPush(1))[0]
            #expect(reported.outcome == outcome, "\(reported)")
            #expect(answer.contains(#""status":\#(reported.status ?? 0),"reason":"\#(reported.reason ?? "")""#))
            #expect(reported.since == (outcome == .unregistered ? Instant(microseconds: 1_700_000_000_000_000) : nil))
            #expect((reported.until != nil) == (outcome == .deferred))
        }
    }

    @Test func `a revoked key stops the app until APNs accepts the key again`() async throws {
        try await APNsRig.with { rig in
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            try await rig.apns.control(#"{"key":{"id":"KEYLOCAL12","state":"revoked"}}"#)
            let reported = await rig.deliver(apnsPush(2))[0]
            #expect(reported.outcome == .stopped && reported.status == 403 && reported.reason == "InvalidProviderToken")
            try await rig.apns.control(#"{"key":{"id":"KEYLOCAL12","state":"active"}}"#)
            #expect(await rig.deliver(apnsPush(2))[0].outcome == .accepted)
            #expect(rig.apns.received.map(\.connection) == [1, 1, 2], "the push after the stop uses a new connection")
        }
    }

    @Test func `a revoked key stops the pushes that wait, and the next push uses a new connection`() async throws {
        try await APNsRig.with("connections: 2", streams: 5) { rig in
            #expect(await rig.deliverUntilFinal((1...20).map { apnsPush($0) }).count == 20)
            try await rig.apns.control(#"{"key":{"id":"KEYLOCAL12","state":"revoked"}}"#)
            let reported = await rig.deliver((21...120).map { apnsPush($0) })
            #expect(reported.allSatisfy { $0.outcome == .stopped && $0.reason == "InvalidProviderToken" })
            #expect(rig.apns.receivedCount <= 20 + 2 * 5)
            let before = rig.apns.received.map(\.connection).max() ?? 0
            #expect(await rig.deliver(apnsPush(121))[0].outcome == .stopped)
            #expect(rig.apns.received.last.map { $0.connection > before } == true)
        }
    }

    @Test func `a server error defers a push for a quarter of an hour`() async throws {
        try await APNsRig.with(script: [#"{"do":{"status":503,"reason":"ServiceUnavailable"}}"#]) { rig in
            let reported = await rig.deliver(apnsPush(1))[0]
            #expect(reported.until == rig.clock.now.advanced(by: .seconds(900)))
        }
    }

    @Test(arguments: [
        #"{"goaway":{"reason":"Shutdown"}}"#, #"{"goaway":{"reason":"IdleTimeout"}}"#,
        #"{"goaway":{"reason":"Service Unavailable"}}"#, #"{"goaway":{"reason":"ExpiredProviderToken"}}"#,
        #"{"goaway":{"reason":"FromTheFuture"}}"#, #"{"goaway":{"text":"bye","twice":true}}"#,
        #"{"goaway":{"lastStream":"before"}}"#, #"{"goaway":{"close":false}}"#,
        #"{"goaway":{"twice":true,"close":false}}"#,
    ])
    func `after GOAWAY, pushes go over another connection`(_ end: String) async throws {
        let script = [#"{"when":{"nth":40},"do":\#(end)}"#]
        try await APNsRig.with(script: script, streams: 10) { rig in
            let answers = await rig.deliverUntilFinal((1...200).map { apnsPush($0, token: String(format: "%08x", $0)) })
            #expect(
                answers.allSatisfy { $0.outcome == .accepted },
                "\(answers.filter { $0.outcome != .accepted }.prefix(3))")
            #expect(Set(rig.apns.received.map(\.connection)).count == 2)
            #expect(Set(rig.apns.received.filter { $0.status == 200 }.map(\.id)).count == 200)
        }
    }

    @Test func `a refused stream does not count as an attempt`() async throws {
        let script = [#"{"when":{"every":3},"do":{"reset":"REFUSED_STREAM"}}"#]
        try await APNsRig.with(script: script) { rig in
            let answers = await rig.deliver((1...30).map { apnsPush($0) })
            #expect(answers.allSatisfy { $0.outcome == .accepted && $0.attempts == 1 && !$0.mayRepeat })
        }
    }

    @Test func `a dropped connection defers its push, and the device may get the push twice`() async throws {
        try await APNsRig.with(script: [#"{"when":{"first":1},"do":{"drop":true}}"#]) { rig in
            let first = await rig.deliver(apnsPush(1))[0]
            #expect(first.outcome == .deferred && first.mayRepeat)
            let second = await rig.deliverUntilFinal(apnsPush(1))
            #expect(second.outcome == .accepted)
        }
    }

    @Test func `a push that is passed again while it is in flight is not sent twice`() async throws {
        try await APNsRig.with { rig in
            try await rig.connect(thenBehave: #"{"do":{"latency":[2600,2600]}}"#)
            rig.windowLength.value = .milliseconds(100)
            let first = await rig.deliver(apnsPush(1))[0]
            #expect(first.outcome == .deferred && first.reason == "in_flight" && first.attempts == 0)
            let second = await rig.deliverUntilFinal(apnsPush(1))
            #expect(second.outcome == .accepted && second.attempts == 1)
            #expect(rig.apns.received.map(\.id.last) == ["9", "1"])
        }
    }

    /// A window is the time for which one call of `deliver` waits for answers. After a crash, all pushes in flight may
    /// be sent again. So one limit applies to the pushes that are in flight since an earlier window and the pushes of
    /// the next window together.
    @Test func `pushes that outlast their window leave less room for the next window`() async throws {
        try await APNsRig.with(streams: 10) { rig in
            var number: UInt64 = 0
            while rig.transport.inFlightMax < 10 {
                number += 1
                #expect(await rig.deliver(apnsPush(number))[0].outcome == .accepted)
            }
            try await rig.apns.control(#"{"script":[{"do":{"silence":true}}]}"#)
            rig.windowLength.value = .milliseconds(100)
            let late = await rig.deliver((1...4).map { apnsPush(number + $0) })
            #expect(late.allSatisfy { $0.reason == "in_flight" }, "\(late)")
            _ = await rig.deliver(apnsPush(number + 5))
            #expect((5...6).contains(rig.transport.inFlightMax))
        }
    }

    @Test func `a request without an answer is given up at its deadline`() async throws {
        try await APNsRig.with("timeout: 300ms", script: [#"{"when":{"first":1},"do":{"silence":true}}"#]) { rig in
            let first = await rig.deliver(apnsPush(1))[0]
            #expect(first.outcome == .deferred && first.mayRepeat && first.reason == "no answer")
            #expect(await rig.deliverUntilFinal(apnsPush(1)).outcome == .accepted)
        }
    }

    @Test func `after a window without any answer, the next window does not wait`() async throws {
        try await APNsRig.with { rig in
            try await rig.connect(thenBehave: #"{"do":{"silence":true}}"#)
            rig.windowLength.value = .milliseconds(100)
            #expect(await rig.deliver(apnsPush(1)).map(\.reason) == ["in_flight"])
            // If the next window waited for the unresponsive server, the test would exceed its time limit.
            rig.windowLength.value = .seconds(3_600)
            let next = await rig.deliver(apnsPush(2))
            #expect(next[0].outcome == .deferred && next[0].attempts == 0)
        }
    }

    @Test func `a push that was deferred behind an earlier push is not sent unless it is passed again`() async throws {
        try await APNsRig.with { rig in
            try await rig.connect(thenBehave: #"{"do":{"latency":[2500,2500]}}"#)
            rig.windowLength.value = .milliseconds(100)
            let first = await rig.deliver(apnsPush(1, collapse: "c"), apnsPush(2, collapse: "c"))
            #expect(first.map(\.reason) == ["in_flight", "waits for an earlier push"])
            let last = await rig.deliverUntilFinal(apnsPush(3, collapse: "c"))
            #expect(last.outcome == .accepted)
            #expect(rig.apns.received.map(\.id.last) == ["9", "1", "3"])
        }
    }

    @Test func `an expired push is not sent`() async throws {
        try await APNsRig.with { rig in
            let past = "\(rig.clock.now.microseconds / 1_000_000 - 5)"
            let reported = await rig.deliver(apnsPush(1, expiration: past))[0]
            #expect(reported.outcome == .deferred && reported.reason == "expired" && rig.apns.receivedCount == 0)
        }
    }

    @Test func `without a server, pushes are deferred without an attempt`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID())").path
        var configuration = LocalAPNs.Configuration()
        (configuration.port, configuration.folder) = (0, folder)
        let apns = try await LocalAPNs.start(configuration)
        try await apns.stop()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let transport = try APNsRig.transport(
            to: apns.port, in: folder, windowLength: TestWindowLength(.milliseconds(500)))
        try await transport.open()
        let reported = await transport.deliver([apnsPush(1)])[0]
        #expect(reported.outcome == .deferred && reported.attempts == 0 && !reported.mayRepeat)
        #expect(reported.reason?.contains("in_flight") == false)
        await transport.close()
    }

    @Test func `pushes to one device with one collapse ID keep their order`() async throws {
        try await APNsRig.with("connections: 4", script: [#"{"do":{"latency":[0,20]}}"#]) { rig in
            let pushes = (1...40).map { apnsPush($0, token: $0 % 2 == 0 ? "aa" : "bb", collapse: "c") }
            #expect(await rig.deliver(pushes).allSatisfy { $0.outcome == .accepted })
            for token in ["aa", "bb"] {
                let ids = rig.apns.received.filter { $0.token == token }.map(\.id)
                #expect(ids.count == 20 && ids == ids.sorted())
            }
        }
    }

    @Test func `collapseRepeats gives an alert push without a collapse ID its own ID as collapse ID`() async throws {
        let silent = #"{"aps":{"content-available":1}}"#
        for (setting, expected) in [("", "976ec45b-c157-8d46-a9cc-000000000001"), ("collapseRepeats: false", nil)] {
            try await APNsRig.with(setting) { rig in
                _ = await rig.deliver(apnsPush(1), apnsPush(2, type: "background", body: silent))
                let ids = rig.apns.received.sorted { $0.id < $1.id }.map { $0.header("apns-collapse-id") }
                #expect(ids == [expected, nil])
            }
        }
    }

    @Test func `a push that APNs would reject, or whose app is not in the settings, is not sent`() async throws {
        try await APNsRig.with { rig in
            let long = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4_096))"}}"#
            let answers = await rig.deliver([
                apnsPush(1, token: "00f"), apnsPush(2, token: "../x"), apnsPush(3, body: long),
                apnsPush(4, type: "background"), apnsPush(5, collapse: String(repeating: "c", count: 65)),
                apnsPush(6, app: .init(container: "other", environment: "development", topic: "t")),
            ])
            #expect(answers.map(\.outcome) == [.failed, .failed, .failed, .failed, .failed, .stopped])
            #expect(answers.allSatisfy { $0.attempts == 0 && $0.reason?.isEmpty == false })
            #expect(rig.apns.receivedCount == 0)
        }
    }

    @Test func `after a restart, the transport uses its old provider token again`() async throws {
        try await APNsRig.with { rig in
            _ = await rig.deliver(apnsPush(1))
            let again = try APNsRig.transport(to: rig.apns.port, in: rig.folder, clock: rig.clock)
            try await again.open()
            #expect(await again.deliver([apnsPush(2)])[0].outcome == .accepted)
            await again.close()
            let kept = try String(contentsOfFile: "\(rig.folder)/TEAMLOCAL1-KEYLOCAL12.token", encoding: .utf8)
            #expect(kept.split(separator: " ").count == 3)
            #expect(Set(rig.apns.received.map(\.tokenIssuedAt)).count == 1)
        }
    }

    @Test func `the provider token is replaced in time, and the connection stays open`() async throws {
        try await APNsRig.with { rig in
            for number in 1...4 {
                #expect(await rig.deliver(apnsPush(UInt64(number)))[0].outcome == .accepted)
                rig.clock.advance(by: .seconds(1_500))
                try await rig.apns.control(#"{"clock":"+25m"}"#)
            }
            #expect(Set(rig.apns.received.map(\.tokenIssuedAt)).count == 2)
            #expect(Set(rig.apns.received.map(\.connection)).count == 1)
        }
    }

    @Test func `nothing is sent to a server without a trusted certificate`() async throws {
        try await APNsRig.with { rig in
            let other = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID())").path
            var configuration = LocalAPNs.Configuration()
            (configuration.port, configuration.folder) = (0, other)
            let stranger = try await LocalAPNs.start(configuration)
            defer { try? FileManager.default.removeItem(atPath: other) }
            let transport = try APNsRig.transport(
                to: stranger.port, in: rig.folder, windowLength: TestWindowLength(.milliseconds(500)))
            try await transport.open()
            let reported = await transport.deliver([apnsPush(1)])[0]
            #expect(reported.outcome == .deferred && reported.attempts == 0, "\(reported)")
            #expect(stranger.receivedCount == 0)
            await transport.close()
            try await stranger.stop()
        }
    }
}
