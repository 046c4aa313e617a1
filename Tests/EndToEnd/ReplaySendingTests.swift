import Foundation
import TestSupport
import Testing

/// `belfry replay --really-send` sends recorded pushes again.
@Suite(.timeLimit(.minutes(5)))
struct ReplaySendingTests {
    /// Logs of five pushes by the transport `apns`. In the pipeline file, this transport is now a webhook.
    private static func notes(_ server: TestServer) async throws -> Notes {
        let notes = try Notes()
        let yaml = try Self.yaml(notes, server)
        let changes = (1..<6).map { (number: Int) in Notes.change("n\(number)", second: number) }.joined()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", notes.folder + "/logs"], input: Notes.phone() + changes)
        #expect(result.status == 0)
        try notes.write(yaml, to: "notes.yaml")
        return notes
    }

    /// The pipeline file with a webhook as the transport `apns`.
    private static func yaml(_ notes: Notes, _ server: TestServer) throws -> String {
        let webhook = "{ use: webhook, url: \"\(server.url)\", privateNetworks: allow, attempts: 1 }"
        return try notes.read("notes.yaml").replacing("{ use: file, path: pushes.ndjson }", with: webhook)
    }

    private static func replay(_ notes: Notes, _ more: String...) async throws -> Program.Result {
        try await Program.run("belfry", ["replay", notes.pipeline, "--logs", notes.folder + "/logs"] + more)
    }

    private static func records(_ server: TestServer) -> [String] {
        server.requests.compactMap { $0.body.firstMatch(of: /"rid":"([^"]*)"/).map { String($0.1) } }
    }

    /// The contents of the files in the folder of logs, by path. Paths without a dot are left out: folders and lock
    /// files.
    private static func files(_ notes: Notes) throws -> [String: Data] {
        let folder = notes.folder + "/logs"
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.contains(".") }
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0))) })
    }

    @Test func `nothing is sent through a real transport without --really-send`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let notes = try await Self.notes(server)
        let refused = try await Self.replay(notes, "--to", "apns")
        #expect(refused.status == 64 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.contains("would send every push of this replay again"), "\(refused.errors)")
        #expect(refused.errors.contains("(webhook)") && refused.errors.contains("--really-send"), "\(refused.errors)")
        for words in [["--really-send"], ["--really-send", "--to", "console"], ["--really-send", "--to", "null"]] {
            let pointless = try await Program.run("belfry", ["replay", notes.pipeline] + words)
            #expect(pointless.status == 64 && pointless.errors.contains("--really-send needs --to"), "\(pointless)")
        }
        let unknown = try await Self.replay(notes, "--to", "pager", "--really-send")
        #expect(unknown.status == 64 && unknown.errors.contains("they have: apns, screen"), "\(unknown)")
        let absent = try await Self.replay(notes, "--to", "apns", "--really-send", "--stage", "match")
        #expect(absent.status == 64 && absent.errors.contains("they have: none"), "\(absent)")
        #expect(server.requests.isEmpty)
    }

    @Test func `pushes are really sent again, and the replay compares as usual`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let notes = try await Self.notes(server)
        let before = try Self.files(notes)
        let sent = try await Self.replay(notes, "--to", "apns", "--really-send")
        #expect(sent.status == 0 && sent.output.hasPrefix(#"{"result":"identical","#), "\(sent)")
        #expect(sent.errors.contains("apns: 5 pushes given to it; 5 accepted, 0 refused"), "\(sent.errors)")
        #expect(Self.records(server).sorted() == ["n1", "n2", "n3", "n4", "n5"])
        #expect(try Self.files(notes) == before)

        let part = try await Self.replay(notes, "--to", "apns", "--really-send", "--from", "6", "--json")
        #expect(part.status == 0, "\(part)")
        #expect(
            part.output.contains(#""sent":{"transport":"apns","accepted":2,"refused":0,"deferred":0}}"#),
            "\(part.output)")
        #expect(Self.records(server).dropFirst(5).sorted() == ["n4", "n5"])
        _ = try await Self.replay(notes, "--to", "apns", "--really-send", "--only", "record=n2")
        #expect(Self.records(server).dropFirst(7) == ["n2"])
    }

    @Test func `a push that was retried in the recording is sent once by the replay`() async throws {
        let server = TestServer { _, earlier in earlier == 0 ? .status(503) : .status(200) }
        defer { server.stop() }
        let notes = try Notes()
        try notes.write(Self.yaml(notes, server).replacing(", attempts: 1", with: ""), to: "notes.yaml")
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("deliver: ready")
        let changes = Notes.changes(1..<3)
        #expect(try await Program.run("belfry", ["send", notes.pipeline], input: Notes.phone() + changes).status == 0)
        // Two pushes, and another attempt of the first.
        for _ in 0..<600 where server.requests.count < 3 { try await Task.sleep(for: .milliseconds(50)) }
        #expect(server.requests.count == 3)
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
        let sent = try await Program.run("belfry", ["replay", notes.pipeline, "--to", "apns", "--really-send"])
        #expect(sent.errors.contains("apns: 2 pushes given to it; 2 accepted, 0 refused"), "\(sent)")
        #expect(server.requests.count == 5)
    }

    @Test func `refused pushes are counted by reason`() async throws {
        let server = TestServer { request, _ in
            request.body.contains("n3") ? .status(410, body: #"{"reason":"Unregistered"}"#) : .status(200)
        }
        defer { server.stop() }
        let notes = try await Self.notes(server)
        let sent = try await Self.replay(notes, "--to", "apns", "--really-send")
        #expect(sent.status == 1 && sent.output.hasPrefix(#"{"result":"identical","#), "\(sent)")
        #expect(sent.errors.contains("4 accepted, 1 refused\n  1 × 410 Unregistered\n"), "\(sent.errors)")
    }
}
