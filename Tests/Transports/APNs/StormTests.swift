import PipelineKit
import Testing

@testable import TransportAPNs

/// Tests how many connections the transport opens for an app whose pushes APNs rejects, and that pushes of other apps
/// are still accepted.
///
/// In the tests that count connections, the wait between connections is longer than the test (``Dialing/never``). So
/// every connection that a test counts was opened without a wait.
@Suite(.timeLimit(.minutes(5))) struct Storms {
    private static let other = Delivery.App.other("com.example.Other")

    private static func refusal(_ status: Int, _ reason: String, topic: String = "com.example.Other") -> String {
        #"{"when":{"topic":"\#(topic)"},"do":{"status":\#(status),"reason":"\#(reason)"}}"#
    }

    private static func others(_ numbers: ClosedRange<UInt64>) -> [Delivery] {
        numbers.map { apnsPush($0, app: other) }
    }

    private static let reasons: [(Int, String, TransportAnswer.Outcome)] = [
        (400, "TopicDisallowed", .stopped), (403, "ExpiredProviderToken", .stopped),
        (403, "UnrelatedKeyIdInToken", .deferred), (400, "IdleTimeout", .deferred), (421, "Misdirected", .deferred),
        (403, "InvalidProviderToken", .stopped), (503, "Shutdown", .deferred),
    ]

    @Test(arguments: reasons)
    func `rejected pushes that come together cost one new connection, and another app uses it too`(
        _ status: Int, _ reason: String, _ outcome: TransportAnswer.Outcome
    ) async throws {
        try await APNsRig.with(
            script: [Self.refusal(status, reason)], streams: 5, otherTopics: ["com.example.Other"], dialing: .never
        ) { rig in
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            let reported = await rig.deliver(Self.others(101...160) + (2...9).map { apnsPush($0) })
            let (good, bad) = (reported.filter { $0.id.push < 100 }, reported.filter { $0.id.push > 100 })
            #expect(good.count == 8 && good.allSatisfy { $0.outcome == .accepted }, "\(good)")
            #expect(bad.count == 60 && bad.allSatisfy { $0.outcome == outcome }, "\(bad)")
            #expect(bad.allSatisfy { $0.status == status && $0.reason == reason })
            #expect(await rig.deliver(apnsPush(10))[0].outcome == .accepted)
            #expect(rig.apns.received.last?.connection == 2)
            try await rig.apns.control(#"{"script":[]}"#)
            #expect(await rig.deliver(Self.others(101...160)).allSatisfy { $0.outcome == .accepted })
            #expect(Set(rig.apns.received.map(\.connection)) == [1, 2])
        }
    }

    @Test func `each rejected push between accepted pushes costs one new connection`() async throws {
        try await APNsRig.with(
            script: [Self.refusal(400, "TopicDisallowed")], otherTopics: ["com.example.Other"], dialing: .never
        ) { rig in
            for number: UInt64 in 1...5 {
                #expect(await rig.deliver(apnsPush(number))[0].outcome == .accepted)
                #expect(await rig.deliver(Self.others((100 + number)...(100 + number)))[0].outcome == .stopped)
                #expect(await rig.deliver(apnsPush(10 + number))[0].outcome == .accepted)
                #expect(rig.apns.received.last?.connection == Int(number) + 1)
            }
        }
    }

    /// No push is accepted. Later pushes open no second connection, because the pool waits before it connects again.
    @Test(arguments: reasons)
    func `a server that rejects everything does not get a new connection for each push`(
        _ status: Int, _ reason: String, _ outcome: TransportAnswer.Outcome
    ) async throws {
        try await APNsRig.with(script: [Self.refusal(status, reason, topic: "*")], dialing: .never) { rig in
            rig.windowLength.value = .milliseconds(100)
            while rig.apns.receivedCount == 0, !Task.isCancelled { _ = await rig.deliver(apnsPush(1)) }
            for number: UInt64 in 1...30 {
                let reported = await rig.deliver(apnsPush(number))[0]
                #expect(reported.outcome == .deferred || reported.outcome == outcome)
            }
            #expect(Set(rig.apns.received.map(\.connection)) == [1])
        }
    }

    @Test func `rejections in a row are counted separately for each app`() async throws {
        try await APNsRig.with(
            script: [Self.refusal(418, "Teapot")], otherTopics: ["com.example.Other"]
        ) { rig in
            var reported: [TransportAnswer.Outcome] = []
            for number: UInt64 in 1...10 {
                #expect(await rig.deliver(apnsPush(number))[0].outcome == .accepted)
                reported.append(await rig.deliver(apnsPush(100 + number, app: Self.other))[0].outcome)
            }
            #expect(reported == [TransportAnswer.Outcome](repeating: .failed, count: 9) + [.stopped])
            try await rig.apns.control(#"{"script":[\#(Self.refusal(418, "Teapot", topic: "*"))]}"#)
            #expect(
                await rig.deliver(apnsPush(200))[0].outcome == .failed, "rejections of another app do not count")
        }
    }
}
