import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import TransportAPNs

/// Servers that take connections and then fail at whatever comes next. A window that waited for one twice would outlive
/// the test's time: patience is an hour after the first.
@Suite(.timeLimit(.minutes(1))) struct MuteServers {
    private static let bad = RawServer.Conduct.allCases.filter { $0 != .answers }

    @Test(arguments: bad)
    func aServerThatTakesNothingIsWaitedForOnceAndTakenAgainWhenItIsWell(_ conduct: RawServer.Conduct) async throws {
        let dialing = Dialing(
            deadline: .milliseconds(300), firstWait: .milliseconds(10), longestWait: .milliseconds(50))
        try await Self.with(conduct, dialing, "timeout: 500ms") { transport, server, patience in
            var told = await transport.deliver([apnsPush(1)])
            patience.value = .seconds(3_600)
            for _ in 1...20 {
                #expect(told[0].outcome == .deferred, "\(told)")
                told = await transport.deliver([apnsPush(1)])
            }
            server.conduct = .answers
            // One that stands is as it was.
            if conduct == .noRoom || conduct == .silence { try await transport.endConnections() }
            while told[0].outcome == .deferred, !Task.isCancelled {
                told = await transport.deliver([apnsPush(1)])
            }
            #expect(told[0].outcome == .accepted)
            patience.value = .milliseconds(1)
        }
    }

    @Test(arguments: [RawServer.Conduct.noTLS, .noSettings, .goAwayAtOnce, .goAwayAfterRequest])
    func aConnectionOnWhichNothingWasTakenIsFollowedByAWait(_ conduct: RawServer.Conduct) async throws {
        var dialing = Dialing.never
        dialing.deadline = .milliseconds(100)
        try await Self.with(conduct, dialing) { transport, server, patience in
            var failures = 0
            while failures == 0, !Task.isCancelled {
                _ = await transport.deliver([apnsPush(1)])
                failures = try await transport.onPool(\.dialFailures)
            }
            for number: UInt64 in 1...50 { _ = await transport.deliver([apnsPush(number)]) }
            #expect(server.connections == 1)
        }
    }

    @Test(arguments: [
        (RawServer.Conduct.noTLS, "does not answer the TLS handshake"),
        (.noSettings, "sends no SETTINGS of HTTP/2"), (.goAwayAtOnce, "says GOAWAY"),
    ])
    func whatDoesNotComeIsNamed(_ conduct: RawServer.Conduct, _ words: String) async throws {
        var dialing = Dialing.never
        dialing.deadline = .milliseconds(100)
        try await Self.with(conduct, dialing) { transport, server, patience in
            while try await transport.onPool(\.dialFailures) == 0, !Task.isCancelled {
                _ = await transport.deliver([apnsPush(1)])
            }
            let told = await transport.deliver([apnsPush(1)])
            #expect(told[0].reason == "localhost:\(server.port) \(words)")
        }
    }

    @Test func aProxyThatDoesNotAnswerIsNamed() async throws {
        let folder = try Folder()
        let server = try await RawServer(.noTLS, in: folder.path)
        var dialing = Dialing.never
        dialing.deadline = .milliseconds(100)
        let transport = try APNsRig.transport(
            to: server.port, in: folder.path, "proxy: http://127.0.0.1:\(server.port)",
            patience: TestPatience(.milliseconds(100)), dialing: dialing)
        try await transport.open()
        while try await transport.onPool(\.dialFailures) == 0 { _ = await transport.deliver([apnsPush(1)]) }
        let told = await transport.deliver([apnsPush(1)])
        #expect(told[0].reason == "the proxy 127.0.0.1:\(server.port) does not answer CONNECT")
        await transport.close()
        try await server.stop()
    }

    private static func with(
        _ conduct: RawServer.Conduct, _ dialing: Dialing, _ settings: String = "",
        _ body: (APNsTransport, RawServer, TestPatience) async throws -> Void
    ) async throws {
        let folder = try Folder()
        let server = try await RawServer(conduct, in: folder.path)
        let patience = TestPatience(.milliseconds(100))
        let transport = try APNsRig.transport(
            to: server.port, in: folder.path, settings, patience: patience, dialing: dialing)
        try await transport.open()
        try await body(transport, server, patience)
        await transport.close()
        try await server.stop()
    }
}

extension APNsTransport {
    func onPool<Result: Sendable>(_ body: @escaping @Sendable (ConnectionPool) throws -> Result) async throws -> Result
    {
        let pool = try #require(lines.first).pool
        return try await pool.loop.submit { try body(pool.bound.value) }.get()
    }

    fileprivate func endConnections() async throws {
        try await onPool { for connection in $0.connections { connection.end() } }
    }
}

/// What refuses one app does not cost the others of its key their connection more than once. Where a connection would
/// have to wait for another, it waits longer than the test: each that is counted was opened at once.
@Suite(.timeLimit(.minutes(1))) struct Storms {
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
    func anAppThatIsRefusedTakesOneNewConnectionAndTheOthersGoOnOverIt(
        _ status: Int, _ reason: String, _ outcome: TransportAnswer.Outcome
    ) async throws {
        try await APNsRig.with(
            script: [Self.refusal(status, reason)], streams: 5, otherTopics: ["com.example.Other"], dialing: .never
        ) { rig in
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            let told = await rig.deliver(Self.others(101...160) + (2...9).map { apnsPush($0) })
            let (good, bad) = (told.filter { $0.id.push < 100 }, told.filter { $0.id.push > 100 })
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

    @Test func eachProbeOfAStoppedAppTakesOneConnectionAtMost() async throws {
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

    /// Nothing is taken: what comes, window after window, opens no other connection until the wait is over.
    @Test(arguments: reasons)
    func aServerThatRefusesAllIsNotDialledForEachPush(
        _ status: Int, _ reason: String, _ outcome: TransportAnswer.Outcome
    ) async throws {
        try await APNsRig.with(script: [Self.refusal(status, reason, topic: "*")], dialing: .never) { rig in
            rig.patience.value = .milliseconds(100)
            while rig.apns.receivedCount == 0 { _ = await rig.deliver(apnsPush(1)) }
            for number: UInt64 in 1...30 {
                let told = await rig.deliver(apnsPush(number))[0]
                #expect(told.outcome == .deferred || told.outcome == outcome)
            }
            #expect(Set(rig.apns.received.map(\.connection)) == [1])
        }
    }

    @Test func refusalsInARowAreThoseOfOneApp() async throws {
        try await APNsRig.with(
            script: [Self.refusal(418, "Teapot")], otherTopics: ["com.example.Other"]
        ) { rig in
            var told: [TransportAnswer.Outcome] = []
            for number: UInt64 in 1...10 {
                #expect(await rig.deliver(apnsPush(number))[0].outcome == .accepted)
                told.append(await rig.deliver(apnsPush(100 + number, app: Self.other))[0].outcome)
            }
            #expect(told == [TransportAnswer.Outcome](repeating: .failed, count: 9) + [.stopped])
            try await rig.apns.control(#"{"script":[\#(Self.refusal(418, "Teapot", topic: "*"))]}"#)
            #expect(
                await rig.deliver(apnsPush(200))[0].outcome == .failed, "nine or more of another app are not its own")
        }
    }
}
