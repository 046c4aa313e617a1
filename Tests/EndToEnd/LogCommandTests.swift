import Foundation
import Testing

@Suite(.timeLimit(.minutes(2)))
struct LogCommandTests {
    private func logs(_ notes: Notes) async throws -> String {
        let folder = notes.folder + "/logs"
        // Each in a second, and so a batch, of its own.
        let changes = (0..<50).map { (number: Int) in Notes.change("n\(number)", second: number) }.joined()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", folder],
            input: Notes.phone() + changes)
        #expect(result.status == 0)
        return folder
    }

    @Test func `sound logs verify, damage is found`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let sound = try await Program.run("belfry", ["log", "verify", folder])
        #expect(sound.status == 0)
        #expect(sound.output.contains("changes: sound, 52 events"))
        try damage(folder + "/changes")
        let damaged = try await Program.run("belfry", ["log", "verify", folder])
        #expect(damaged.status == 1)
        #expect(damaged.output.contains("changes: damaged"))
        #expect(damaged.output.contains("matches: sound"))
        let listed = try await Program.run("belfry", ["log", "ls", folder])
        #expect(listed.output.split(separator: "\n").count >= 4)
        let shown = try await Program.run("belfry", ["log", "show", folder + "/changes"])
        #expect(shown.status == 65)
        #expect(shown.errors.contains("is damaged at byte"))
    }

    @Test func `show follows a log as it grows`() async throws {
        let notes = try Notes()
        let ingest = try Program(
            "belfry-ingest", ["--pipeline", notes.pipeline, try notes.write(Notes.phone(), to: "first")])
        await ingest.error("2 lines sent")
        let show = try Program("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--follow", "--limit", "3"])
        #expect(await show.line("subscription.save") != nil)
        _ = try await Program.run("belfry", ["send", notes.pipeline], input: Notes.change("n1"))
        let result = await show.result()
        #expect(result.status == 0)
        #expect(result.output.split(separator: "\n").count == 3)
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a place without logs is no input`() async throws {
        let notes = try Notes()
        let missing = try await Program.run("belfry", ["log", "ls", notes.folder + "/nowhere"])
        #expect(missing.status == 66)
        let unused = try await Program.run("belfry", ["log", "ls", notes.pipeline])
        #expect(unused.status == 0)
        #expect(unused.output == "" && unused.errors.hasPrefix("no logs yet in "))
        let unknown = try await Program.run("belfry", ["log", "show", "changes", "-p", notes.pipeline])
        #expect(unknown.status == 66)
    }

    /// Changes one byte in the middle of the log's first segment.
    private func damage(_ directory: String) throws {
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".log") })
        let url = URL(fileURLWithPath: directory + "/" + name)
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 0x20
        try bytes.write(to: url)
    }
}
