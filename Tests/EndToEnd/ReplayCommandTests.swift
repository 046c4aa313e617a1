import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReplayCommandTests {
    private static func logs(_ notes: Notes) async throws -> String {
        let changes = (1..<6).map { (number: Int) in Notes.change("n\(number)", second: number) }.joined()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", notes.folder + "/logs"], input: Notes.phone() + changes)
        #expect(result.status == 0)
        return notes.folder + "/logs"
    }

    private static func belfry(_ command: String, _ notes: Notes, _ more: String...) async throws -> Program.Result {
        try await Command.run([command, notes.pipeline] + more + ["--logs", notes.folder + "/logs"])
    }

    @Test func `an identical replay exits with 0, and its pushes go to a file`() async throws {
        let notes = try Notes()
        _ = try await Self.logs(notes)
        let pushes = notes.folder + "/replayed.ndjson"
        let replayed = try await Self.belfry("replay", notes, "--to", "file:" + pushes, "--speed", "1000")
        #expect(replayed.status == 0 && replayed.output.hasPrefix(#"{"result":"identical","#), "\(replayed)")
        #expect(Notes.names(try notes.read("replayed.ndjson")) == ["n1", "n2", "n3", "n4", "n5"])
    }

    @Test func `pushes go to a folder in the form for simulators`() async throws {
        let notes = try Notes()
        _ = try await Self.logs(notes)
        let folder = notes.folder + "/simulator"
        let replayed = try await Self.belfry("replay", notes, "--to", "file:" + folder, "--as", "simctl")
        #expect(replayed.status == 0, "\(replayed)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        let pushes = try names.map { try notes.read("simulator/" + $0) }
        #expect(pushes.allSatisfy { $0.hasPrefix(#"{"Simulator Target Bundle":"com.example.Notes","aps":{"#) })
        #expect(Notes.names(pushes.joined()) == ["n1", "n2", "n3", "n4", "n5"])
        let refused = try await Self.belfry("replay", notes, "--as", "simctl")
        #expect(refused.status == 64 && refused.errors.contains("--as simctl needs --to file:FOLDER"), "\(refused)")
    }

    @Test func `recorded settings that differ are reported`() async throws {
        let notes = try Notes()
        _ = try await Self.logs(notes)
        try notes.write(
            notes.read("notes.yaml").replacing("window: 0s", with: "policy: debounce, window: 2s"), to: "notes.yaml")
        let replayed = try await Self.belfry("replay", notes)
        #expect(replayed.status == 0)
        #expect(replayed.errors.hasPrefix("coalesce was recorded with other settings than "), "\(replayed)")
    }

    @Test func `replay exits with 65 for a damaged log, with 66 without logs`() async throws {
        let notes = try Notes()
        let logs = try await Self.logs(notes)
        let segment = try #require(
            try FileManager.default.contentsOfDirectory(atPath: logs + "/pushes").first { $0.hasSuffix(".log") })
        var bytes = try Data(contentsOf: URL(fileURLWithPath: logs + "/pushes/" + segment))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: logs + "/pushes/" + segment))
        let damaged = try await Self.belfry("replay", notes)
        #expect(damaged.status == 65 && damaged.errors.contains("/pushes/" + segment), "\(damaged)")
        try FileManager.default.removeItem(atPath: logs)
        #expect(try await Self.belfry("replay", notes).status == 66)
    }

    @Test(.enabled(if: Python.hasZeroMQ, "\(Python.missing)"))
    func `a replay runs the program of a plugin again`() async throws {
        let notes = try Notes()
        let yaml = try notes.read("notes.yaml")
            .replacing("  coalesce: { from: match", with: Python.filter + "\n  coalesce: { from: filter")
        try notes.write(yaml, to: "notes.yaml")
        _ = try await Self.logs(notes)
        let replayed = try await Self.belfry("replay", notes)
        #expect(replayed.status == 0 && replayed.output.hasPrefix(#"{"result":"identical","#), "\(replayed)")
        #expect(replayed.errors.contains("filter: identical, 6 input events"), "\(replayed.errors)")
        try notes.write(yaml.replacing("Draft]", with: "Note]"), to: "notes.yaml")
        let quiet = try await Self.belfry("replay", notes, "--only", "stage=filter")
        #expect(
            quiet.status == 1 && quiet.output.contains(#""difference":{"stage":"filter","log":"filter","sequence":2,"#),
            "\(quiet)")
    }
}
