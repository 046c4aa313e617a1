import LocalAPNs
import NIOCore
import PipelineKit
import Testing
import Time

@testable import TransportAPNs

/// Tests what answers, resets and GOAWAY mean for the connection and for later pushes.
@Suite(.timeLimit(.minutes(5))) struct APNsAnswerRulesTests {
    private static func always(_ status: Int, _ reason: String) -> String {
        #"{"do":{"status":\#(status),"reason":"\#(reason)"}}"#
    }

    private static func once(_ conduct: String) -> String { #"{"when":{"first":1},"do":{\#(conduct)}}"# }

    @Test(arguments: [
        #""status":400,"reason":"TopicDisallowed""#, #""status":400,"reason":"IdleTimeout""#,
        #""status":403,"reason":"UnrelatedKeyIdInToken""#, #""status":421,"reason":"Misdirected""#,
        #""status":429,"reason":"TooManyProviderTokenUpdates""#, #""status":403,"reason":"ExpiredProviderToken""#,
    ])
    func `a push whose rejection may concern only the connection is retried on another connection`(_ answer: String)
        async throws
    {
        try await APNsRig.with(script: [Self.once(answer)]) { rig in
            let reported = await rig.deliver(apnsPush(1))[0]
            #expect(reported.outcome == .accepted && reported.attempts == 2, "\(reported)")
            #expect(rig.apns.received.map(\.connection) == [1, 2])
            #expect(Set(rig.apns.received.map(\.tokenIssuedAt)).count == 1, "a young token stays")
        }
    }

    @Test func `an old provider token that APNs calls expired is replaced, and so is its connection`() async throws {
        try await APNsRig.with { rig in
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            rig.clock.advance(by: .seconds(25 * 60))
            try await rig.apns.control(#"{"clock":"+25m"}"#)
            let expired = Self.once(#""status":403,"reason":"ExpiredProviderToken""#)
            try await rig.apns.control(#"{"script":[\#(expired)]}"#)
            #expect(await rig.deliver(apnsPush(2))[0].outcome == .accepted)
            #expect(rig.apns.received.map(\.connection) == [1, 1, 2])
            #expect(Set(rig.apns.received.map(\.tokenIssuedAt)).count == 2)
        }
    }

    /// APNs counts the provider tokens that connections bring, so further connections would raise the count.
    @Test func `if provider tokens change too often, one reconnection is tried, then the key is paused`() async throws {
        try await APNsRig.with(script: [Self.always(429, "TooManyProviderTokenUpdates")]) { rig in
            let first = await rig.deliver((1...20).map { apnsPush($0) })
            let until = try #require(first[0].until)
            #expect(until >= rig.clock.now.advanced(by: .seconds(300)))
            for number: UInt64 in 21...40 {
                let reported = await rig.deliver(apnsPush(number))[0]
                #expect(
                    reported.outcome == .deferred && reported.until == until && reported.attempts == 0, "\(reported)")
                #expect(reported.status == 429 && reported.reason == "TooManyProviderTokenUpdates")
            }
            #expect(first.allSatisfy { $0.outcome == .deferred && $0.until == until })
            #expect(rig.apns.received.map(\.connection) == [1, 2])
            rig.clock.advance(by: until - rig.clock.now)
            try await rig.apns.control(#"{"script":[]}"#)
            #expect(await rig.deliver((1...40).map { apnsPush($0) }).allSatisfy { $0.outcome == .accepted })
            #expect(Set(rig.apns.received.map(\.tokenIssuedAt)).count == 1)
        }
    }

    @Test(arguments: [
        (500, "InternalServerError", [1, 1, 1, 1, 1, 2]), (503, "ServiceUnavailable", [1, 1, 1, 1, 1, 1]),
        (503, "Shutdown", [1, 2, 3, 4, 5, 6]),
    ])
    func `the reason of a server error decides whether, and after how many answers, the connection is replaced`(
        _ status: Int, _ reason: String, _ connections: [Int]
    )
        async throws
    {
        try await APNsRig.with(script: [Self.always(status, reason)]) { rig in
            for number: UInt64 in 1...6 {
                var reported = await rig.deliver(apnsPush(number))[0]
                // If a connection is replaced soon after its start, the pool waits before it opens the next one.
                while reported.status == nil, !Task.isCancelled { reported = await rig.deliver(apnsPush(number))[0] }
                #expect(reported.outcome == .deferred && reported.status == status && reported.reason == reason)
                #expect(reported.until == rig.clock.now.advanced(by: .seconds(900)))
            }
            #expect(rig.apns.received.map(\.connection) == connections)
        }
    }

    @Test(arguments: [
        (403, "Forbidden", true), (400, "FromTheFuture", true), (302, "Moved", true), (400, "BadMessageId", false),
    ])
    func `ten rejections in a row stop the app, unless the rejections are the fault of the pushes`(
        _ status: Int, _ reason: String, _ stops: Bool
    )
        async throws
    {
        try await APNsRig.with(script: [Self.always(status, reason)]) { rig in
            var reported: [TransportAnswer] = []
            for number: UInt64 in 1...11 { reported.append(await rig.deliver(apnsPush(number))[0]) }
            #expect(reported.prefix(9).allSatisfy { $0.outcome == .failed })
            #expect(reported.suffix(2).allSatisfy { $0.outcome == (stops ? .stopped : .failed) })
            #expect(reported.allSatisfy { $0.status == status && $0.reason == reason })
            try await rig.apns.control(#"{"script":[]}"#)
            #expect(await rig.deliver(apnsPush(12))[0].outcome == .accepted)
            try await rig.apns.control(#"{"script":[\#(Self.always(status, reason))]}"#)
            #expect(await rig.deliver(apnsPush(13))[0].outcome == .failed, "an accepted push resets the count")
        }
    }

    @Test func `a push whose stream is reset with an error is deferred, and may arrive twice`() async throws {
        try await APNsRig.with(script: [#"{"when":{"first":1},"do":{"reset":"INTERNAL_ERROR"}}"#]) { rig in
            let reported = await rig.deliver(apnsPush(1))[0]
            #expect(reported.outcome == .deferred && reported.mayRepeat && reported.attempts == 1)
            #expect(reported.reason == "reset with code 2")
            #expect(await rig.deliverUntilFinal(apnsPush(1)).outcome == .accepted)
            #expect(rig.apns.received.last?.isRepeat == true)
        }
    }

    @Test func `if a server refuses a push ten times, the push is deferred and the pool waits`() async throws {
        try await APNsRig.with(script: [#"{"do":{"reset":"REFUSED_STREAM"}}"#]) { rig in
            let reported = await rig.deliver(apnsPush(1))[0]
            #expect(
                reported.outcome == .deferred && reported.reason == "the server refused the request 10 times",
                "\(reported)")
            #expect(reported.attempts == 0 && !reported.mayRepeat && rig.apns.receivedCount == 10)
            #expect(try await rig.dialFailures == 1)
            let last = rig.apns.received.last?.connection ?? 0
            try await rig.apns.control(#"{"script":[]}"#)
            #expect(await rig.deliverUntilFinal(apnsPush(1)).outcome == .accepted)
            #expect(rig.apns.received.last?.connection == last + 1)
            #expect(try await rig.dialFailures == 0)
        }
    }

    @Test func `a push that gets IdleTimeout on a second connection too is deferred with this reason`() async throws {
        try await APNsRig.with(script: [Self.always(400, "IdleTimeout")]) { rig in
            let reported = await rig.deliver(apnsPush(1))[0]
            #expect(
                reported.outcome == .deferred && reported.status == 400 && reported.reason == "IdleTimeout",
                "\(reported)")
            #expect(reported.attempts == 2 && !reported.mayRepeat)
            #expect(rig.apns.received.map(\.connection) == [1, 2])
        }
    }

    /// This server completes each handshake, and drops the connection at the first request.
    @Test func `the wait between connections is reset by an answer and not by a handshake`() async throws {
        try await APNsRig.with(script: [#"{"do":{"drop":true}}"#]) { rig in
            while rig.apns.received.count < 2 { _ = await rig.deliver(apnsPush(1)) }
            while try await rig.dialFailures < 2 { _ = await rig.deliver(apnsPush(1)) }
            try await rig.apns.control(#"{"script":[]}"#)
            #expect(await rig.deliverUntilFinal(apnsPush(1)).outcome == .accepted)
            #expect(try await rig.dialFailures == 0)
        }
    }

    @Test func `a certificate that GOAWAY rejects stops its app, and the pool does not dial for ever`() async throws {
        let end = #"{"do":{"goaway":{"reason":"BadCertificateEnvironment","lastStream":"before"}}}"#
        try await APNsRig.with("certificate", script: [end]) { rig in
            let reported = await rig.deliver((1...5).map { apnsPush($0) })
            #expect(
                reported.allSatisfy { $0.outcome == .stopped && $0.reason == "BadCertificateEnvironment" },
                "\(reported)")
            #expect(rig.apns.received.isEmpty)
            try await rig.apns.control(#"{"script":[]}"#)
            #expect(await rig.deliverUntilFinal(apnsPush(6)).outcome == .accepted)
            #expect(rig.apns.received.last?.connection == 2)
        }
    }

    @Test func `a connection on which a PING is not answered is replaced`() async throws {
        try await APNsRig.with { rig in
            try await rig.connect(thenBehave: #"{"do":{"silence":true}}"#)
            rig.windowLength.value = .milliseconds(100)
            #expect(await rig.deliver(apnsPush(1)).map(\.reason) == ["in_flight"])
            // Everything happens in one turn of the event loop, so that no answer can come in between.
            let isDead = try await rig.onPool { pool in
                var found: [Bool] = []
                pool.tell { state, moment in
                    for seconds: Int64 in [16, 25, 27] {
                        var later = moment
                        later.now = moment.now + .seconds(seconds)
                        state.tick(at: later)
                        found.append(state.actions.contains(.close(1)))
                    }
                }
                return found
            }
            #expect(isDead == [false, false, true])
            try await rig.apns.control(#"{"script":[]}"#)
            let reported = await rig.deliverUntilFinal(apnsPush(1))
            #expect(reported.outcome == .accepted && rig.apns.received.last?.connection == 2)
            #expect(rig.apns.received.last?.isRepeat == true)
        }
    }

    @Test func `a connection without stream numbers left is replaced`() async throws {
        try await APNsRig.with { rig in
            #expect(await rig.deliver(apnsPush(1))[0].outcome == .accepted)
            try await rig.onPool { $0.tell { state, _ in state.connections[0].numbersLeft = 2 } }
            let reported = await rig.deliver((2...9).map { apnsPush($0) })
            #expect(reported.allSatisfy { $0.outcome == .accepted && $0.attempts == 1 && !$0.mayRepeat }, "\(reported)")
            #expect(rig.apns.received.map(\.connection) == [1, 1, 1] + [Int](repeating: 2, count: 6))
        }
    }
}

extension APNsRig {
    fileprivate func onPool<Result: Sendable>(
        _ body: @escaping @Sendable (ConnectionPool) throws -> Result
    ) async throws -> Result {
        let pool = try #require(transport.routes.first).pool
        return try await pool.loop.submit { try body(pool.bound.value) }.get()
    }

    fileprivate var dialFailures: Int { get async throws { try await onPool(\.state.dialFailures) } }
}
