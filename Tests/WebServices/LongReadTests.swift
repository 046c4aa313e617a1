import Dispatch
import HTTPServer
import TestSupport
import Testing

@testable import PipelineTestKit
@testable import WebServices

/// Queries that take long, at a gateway in front of a whole pipeline.
@Suite("Long reads", .serialized, .timeLimit(.minutes(3)))
struct LongReadTests {
    private static let query = #"{"query":{"recordType":"Note"}}"#
    private static let lookup = #"{"records":[{"recordName":"n1"}]}"#

    @Test func `long queries delay neither lookups nor writes`() async throws {
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "n1")
            let (release, begun) = (DispatchSemaphore(value: 0), AsyncStream<Void>.makeStream())
            var blocked: [Task<Void, any Error>] = []
            for number in 0..<ReadThreads.count {
                blocked.append(
                    Task {
                        try await rig.gateway.reads.run(for: .client(ClientNetwork("\(number)"))) { _ in
                            begun.continuation.yield()
                            release.wait()
                        }
                    })
            }
            var iterator = begun.stream.makeAsyncIterator()
            for _ in blocked { _ = await iterator.next() }
            async let query = rig.post("private/records/query", Self.query)
            for number in 0..<10 {
                let found = try await rig.post("private/records/lookup", Self.lookup)
                #expect(found.count("records") == 1)
                let saved = try await rig.modify("create", "later\(number)")
                #expect(saved.status == 200)
            }
            for _ in blocked { release.signal() }
            let found = try await query
            #expect(found.count("records") == 11, "the query must wait for a free thread: \(found)")
            for task in blocked { try await task.value }
        }
    }

    @Test func `the long queries of one user leave a thread to other users`() async throws {
        try await GatewayRig.with { rig in
            _ = try await rig.modify("create", "n1", as: "_bob")
            let release = DispatchSemaphore(value: 0)
            let reader = Reader.user("_alice", container: GatewayRig.container)
            let blocked = (0..<6).map { _ in
                Task { try await rig.gateway.reads.run(for: reader) { _ in release.wait() } }
            }
            for _ in 0..<10 {
                let found = try await rig.post("private/records/query", Self.query, as: "_bob")
                #expect(found.count("records") == 1, "\(found)")
                let changes = try await rig.post("private/changes/database", as: "_bob")
                #expect(changes.status == 200, "\(changes)")
            }
            for _ in blocked { release.signal() }
            for task in blocked { try await task.value }
        }
    }

    @Test func `a query that takes too long is refused with a reason, and the next query works`() async throws {
        let clock = ReadClock()
        try await GatewayRig.with(clock: clock) { rig in
            _ = try await rig.modify("create", "n1")
            clock.advance(byEachQuestion: ReadThreads.timeMax / 2)
            let refused = try await rig.post("private/records/query", Self.query)
            #expect(refused.status == 400 && refused["serverErrorCode"] == "BAD_REQUEST", "\(refused)")
            #expect(refused["reason"]?.contains("longer than 10 seconds") == true, "\(refused)")
            clock.advance(byEachQuestion: .zero)
            let found = try await rig.post("private/records/query", Self.query)
            #expect(found.count("records") == 1, "\(found)")
        }
    }

    @Test func `a query that takes long ends when its client has gone`() async throws {
        let clock = ReadClock()
        try await GatewayRig.with(clock: clock) { rig in
            _ = try await rig.modify("create", "n1")
            clock.holdNextRead()
            let client = try rig.connectRawClient()
            client.send(Self.rawRequest("query", Self.query))
            await clock.waitForRead()
            // The client closes its sending side, which looks like a client that has gone, but it can still read.
            client.closeSending()
            // When later requests on all event loops are answered, the gateway knows that the client has gone.
            for _ in 0..<8 {
                let other = try rig.connectRawClient()
                other.send(Self.rawRequest("lookup", Self.lookup))
                #expect(await other.statuses(1) == [200])
            }
            clock.advance(byEachQuestion: .seconds(1))
            clock.releaseRead()
            #expect(await client.statuses(1) == [503])
        }
    }

    private static func rawRequest(_ action: String, _ body: String) -> String {
        "POST /database/1/\(GatewayRig.container)/development/private/records/\(action)?ckWebAuthToken=_alice HTTP/1.1\r\n"
            + "Host: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func `a gateway ends long queries when it stops`() async throws {
        let clock = ReadClock()
        let (answers, answered) = AsyncStream.makeStream(of: GatewayRig.Answer.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await GatewayRig.with(clock: clock) { rig in
                _ = try await rig.modify("create", "n1")
                clock.holdNextRead()
                group.addTask { answered.yield(try await rig.post("private/records/query", Self.query)) }
                await clock.waitForRead()
                rig.gateway.stop()
                clock.advance(byEachQuestion: .seconds(5))
                clock.releaseRead()
            }
            try await group.waitForAll()
        }
        var iterator = answers.makeAsyncIterator()
        let answer = await iterator.next()
        #expect(answer?.status == 503 && answer?["serverErrorCode"] == "TRY_AGAIN_LATER", "\(answer as Any)")
    }
}
