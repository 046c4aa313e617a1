import TestSupport
import Testing

@testable import HTTPServer

/// Tests the limits on the answers that a server holds at once. The answer of `/big` has 8 MiB.
@Suite(.timeLimit(.minutes(5))) struct HeldAnswersTests {
    enum End: CaseIterable { case read, disconnected, timedOut }

    @Test(arguments: End.allCases)
    func `while unread answers take the room of a large answer, requests for it get 503, and afterwards 200`(end: End)
        async throws
    {
        let rig = try await ServerRig {
            Self.restrict(&$0, heldAnswerBytesMax: 12 << 20)
            $0.limits.limitsEachClient = false
            if end == .timedOut { $0.limits.responseWait = .milliseconds(500) }
        }
        var holder: RawClient? = try rig.connect()
        holder?.get("/big")
        #expect(await holder?.statuses(1) == [200])
        if end != .timedOut {
            let refusal = try await get("/big", rig)
            #expect(refusal.hasPrefix("HTTP/1.1 503 ") && refusal.hasSuffix("tooManyAnswers"), "\(refusal.prefix(200))")
            #expect(refusal.lowercased().contains("retry-after: 1\r\n"))
        }
        #expect(RawClient.statuses(in: try await get("/", rig)) == [200], "a small answer needs no room")
        switch end {
        case .read:
            holder?.closeSending()
            _ = await holder?.rest()
        case .disconnected: holder = nil
        case .timedOut: break
        }
        try await getBig(rig)
        try await rig.stop()
    }

    @Test
    func `one client's answers get at most a quarter of the room, but its only answer may take more`() async throws {
        let rig = try await ServerRig { Self.restrict(&$0, heldAnswerBytesMax: 20 << 20) }
        let holder = try rig.connect(from: "127.0.0.1")
        holder.get("/big")
        #expect(await holder.statuses(1) == [200])
        #expect(RawClient.statuses(in: try await get("/big", rig, from: "127.0.0.1")) == [503])
        #expect(RawClient.statuses(in: try await get("/big", rig, from: "127.0.0.2")) == [200])
        holder.closeSending()
        _ = await holder.rest()
        try await getBig(rig, from: "127.0.0.1")
        try await rig.stop()
    }

    @Test func `an answer longer than the whole room is sent if the server holds no other answer`() async throws {
        let rig = try await ServerRig { Self.restrict(&$0, heldAnswerBytesMax: 1 << 20) }
        try await getBig(rig)
        try await getBig(rig)
        try await rig.stop()
    }

    private static func restrict(_ options: inout WebServerOptions, heldAnswerBytesMax: Int) {
        options.limits.heldAnswerBytesMax = heldAnswerBytesMax
        options.refuse = { refusal, _, _ in WebResponse(status: refusal.status, body: "\(refusal)".utf8) }
    }

    /// - Returns: The whole answer.
    private func get(_ path: String, _ rig: ServerRig, from source: String? = nil) async throws -> String {
        let client = try rig.connect(from: source)
        client.get(path, "connection: close\r\n")
        return await client.rest()
    }

    /// Gets `/big` again and again until the answer is 200.
    private func getBig(_ rig: ServerRig, from source: String? = nil) async throws {
        while RawClient.statuses(in: try await get("/big", rig, from: source)) != [200] {}
    }
}
