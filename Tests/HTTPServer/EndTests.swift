import Foundation
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(5))) struct EndTests {
    /// `nc -N` closes its sending side when its own input ends, before it gets the answer.
    @Test func `a client that closed its sending side still gets its answer`() async throws {
        let rig = try await ServerRig()
        for _ in 0..<20 {
            let client = try rig.connect()
            client.get("/")
            client.closeSending()
            #expect(await client.rest().hasPrefix("HTTP/1.1 200 "))
        }
        try await rig.stop()
    }

    @Test(arguments: [true, false])
    func `a waiting request is notified when its client disconnects or closes its sending side`(
        closesSendingFirst: Bool
    ) async throws {
        let rig = try await ServerRig()
        var client: RawClient? = try rig.connect()
        client?.get("/held")
        let held = try await rig.heldRequests.next()
        let gone = ValueRecorder<Bool>()
        held.request.whenClientIsGone { gone.add(true) }
        if closesSendingFirst {
            client?.closeSending()
            #expect(await client?.rest().hasSuffix("gone") == true)
        }
        client = nil
        #expect(try await gone.next())
        #expect(try await rig.log.next().bodyBytes == 4 || !closesSendingFirst)
        try await rig.stop()
    }

    @Test func `hundreds of waiting requests do not take a thread each`() async throws {
        let rig = try await ServerRig { $0.limits.limitsEachClient = false }
        let clients = try (0..<400).map { _ in try rig.connect() }
        for client in clients { client.get("/held") }
        var waiting: [HeldRequest] = []
        for _ in clients { waiting.append(try await rig.heldRequests.next()) }
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        #expect(threads < 200)
        for request in waiting { request.end("now") }
        for client in clients { #expect(await client.statuses(1) == [200]) }
        try await rig.stop()
    }

    @Test func `a graceful stop answers requests in progress, and closes idle connections`() async throws {
        let rig = try await ServerRig()
        let (idle, busy, slow) = (try rig.connect(), try rig.connect(), try rig.connect())
        idle.get("/")
        #expect(await idle.statuses(1) == [200])
        busy.get("/held")
        let held = try await rig.heldRequests.next()
        slow.get("/big")
        _ = await slow.answers(1)
        async let stopped: Void = rig.stop()
        #expect(await idle.rest() == "")
        #expect(throws: (any Error).self) { try rig.connect() }
        #expect(await slow.rest().utf8.count > ServerRig.big.count / 2)
        held.end("done")
        let answer = await busy.rest()
        #expect(answer.hasSuffix("done") && answer.contains("connection: close\r\n"), "\(answer)")
        try await stopped
    }

    @Test func `a stop cancels requests and answers that take too long`() async throws {
        let rig = try await ServerRig()
        let (held, slow) = (try rig.connect(), try rig.connect())
        held.get("/held")
        _ = try await rig.heldRequests.next()
        slow.get("/big")
        _ = await slow.answers(1)
        try await rig.server.stop(within: .milliseconds(50))
        #expect(await slow.rest().utf8.count < ServerRig.big.count)
        #expect(rig.log.all.map(\.isComplete).contains(false))
    }
}
