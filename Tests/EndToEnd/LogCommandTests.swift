import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LogCommandTests {
    private func logs(_ notes: Notes) async throws -> String {
        let folder = notes.folder + "/logs"
        // Each change has its own second, and so its own batch.
        let changes = (0..<50).map { (number: Int) in Notes.change("n\(number)", second: number) }.joined()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", folder],
            input: Notes.phone() + changes)
        #expect(result.status == 0)
        return folder
    }

    @Test func `verify accepts sound logs and finds damage`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let sound = try await Program.run("belfry", ["log", "verify", folder], onTerminal: true)
        #expect(sound.status == 0)
        #expect(sound.output.contains("changes: sound, 52 events"))
        try damage(folder + "/changes")
        let damaged = try await Program.run("belfry", ["log", "verify", folder], onTerminal: true)
        #expect(damaged.status == 1)
        #expect(damaged.output.contains("changes: damaged"))
        #expect(damaged.output.contains("matches: sound"))
        let listed = try await Command.run(["log", "ls", folder])
        #expect(listed.output.split(separator: "\n").count >= 4)
        let shown = try await Command.run(["log", "show", folder + "/changes"])
        #expect(shown.status == 65)
        #expect(shown.errors.contains("is damaged at byte"))
        #expect(shown.errors.contains("'belfry log repair \(folder)/changes'"), "\(shown.errors)")
    }

    @Test func `a damaged log is repaired only with --yes, and a copy is kept`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let sound = try await Program.run("belfry", ["log", "repair", folder + "/changes"], onTerminal: true)
        #expect(sound.status == 0 && sound.output.contains("sound, nothing to repair"))
        try damage(folder + "/changes")
        let asked = try await Program.run("belfry", ["log", "repair", folder + "/changes"], onTerminal: true)
        #expect(asked.status == 1)
        #expect(
            asked.output.contains("changes: damaged at byte ") && asked.output.contains("would be lost: sequences "))
        #expect(
            asked.output.contains("matches has processed lost events, up to sequence 52")
                && asked.output.contains("--yes repairs"))
        #expect(try await Command.run(["log", "show", folder + "/changes"]).status == 65)
        let arguments = ["log", "repair", "changes", "-p", folder, "--yes", "--now", "2026-11-20T09:30:00Z"]
        let done = try await Program.run("belfry", arguments, onTerminal: true)
        #expect(done.status == 0 && done.output.contains("changes now ends with sequence "))
        #expect(FileManager.default.fileExists(atPath: folder + "/changes/damaged-2026-11-20T09:30:00Z"))
        #expect(try await Command.run(["log", "show", folder + "/changes"]).status == 0)
        let verified = try await Program.run("belfry", ["log", "verify", folder], onTerminal: true)
        #expect(verified.status == 1)
        #expect(verified.output.contains("changes: sound") && verified.output.contains("of 'changes', which ends with"))
    }

    @Test func `a log that a stage in another process has open is not repaired`() async throws {
        let notes = try Notes()
        let ingest = try Program(
            "belfry-ingest", ["--pipeline", notes.pipeline, try notes.write(Notes.phone(), to: "first")])
        await ingest.waitForMessage("2 lines sent")
        let result = try await Command.run(["log", "repair", "changes", "-p", notes.pipeline])
        #expect(result.status == 69)
        #expect(result.errors.contains("log 'changes' in ") && result.errors.contains("open in process \(ingest.pid)"))
        let second = try await Program.run("belfry-ingest", ["--pipeline", notes.pipeline])
        #expect(second.status != 0 && second.errors.contains("log 'changes' in "), "\(second.errors)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `verify, repair and migrate print JSON with --json, or if the output is not a terminal`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try damage(folder + "/changes")
        for (command, status) in [
            (["verify", folder], 1), (["repair", folder + "/changes"], 1), (["repair", folder + "/matches"], 0),
            (["migrate", folder], 0), (["migrate", "--dry-run", folder + "/pushes"], 0),
        ] as [([String], Int32)] {
            let piped = try await Command.run(["log"] + command)
            #expect(piped.status == status && piped.isNDJSON, "\(command): \(piped)")
            let asked = try await Program.run("belfry", ["log"] + command + ["--json"], onTerminal: true)
            #expect(asked.output == piped.output, "\(command): \(asked)")
            let read = try await Program.run("belfry", ["log"] + command, onTerminal: true)
            #expect(!read.isNDJSON, "\(command): \(read)")
        }
    }

    @Test func `log stat, export and migrate print the same for imported logs as for the exported logs`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let exported = try await Command.run(["log", "export", folder, "--with-tokens"])
        #expect(exported.status == 0)
        let copy = notes.folder + "/copy"
        let imported = try await Command.run(["log", "import", "-", "--to", copy], input: exported.output)
        #expect(imported.status == 0 && imported.errors.hasPrefix("5 logs in "))
        for command in [["stat"], ["export", "--with-tokens"], ["migrate", "--dry-run"]] {
            let (old, new) = try await (
                Command.run(["log"] + command + [folder]), Command.run(["log"] + command + [copy])
            )
            #expect(old.status == 0 && old.output == new.output && !old.output.isEmpty)
        }
        let file = try notes.write(exported.output, to: "all.ndjson")
        let again = try await Command.run(["log", "import", file, "--to", copy])
        #expect(again.status == 73 && again.errors.contains("line 1: ") && again.errors.contains("is a log already"))
        let shown = try await Command.run([
            "log", "show", copy + "/matches", "--record", "n40", "--from", "-15s", "--bare",
        ])
        #expect(shown.status == 0 && shown.output.split(separator: "\n").count == 1)
    }

    @Test func `a masked export contains no token, and its logs can be replayed`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let (masked, whole) = try await (
            Command.run(["log", "export", folder]), Command.run(["log", "export", folder, "--with-tokens"])
        )
        #expect(masked.status == 0 && !masked.output.contains(#""token":"6a0f""#))
        #expect(whole.output.contains(#""token":"6a0f""#) && !whole.output.contains("masked"))
        #expect(try await Command.run(["log", "export", folder]).output == masked.output)
        let copy = notes.folder + "/copy"
        let imported = try await Command.run(["log", "import", "-", "--to", copy], input: masked.output)
        #expect(imported.status == 0 && imported.errors.contains("the device tokens are masked"), "\(imported)")
        let replayed = try await Command.run(["replay", notes.pipeline, "--logs", copy])
        #expect(replayed.status == 0, "\(replayed)")
    }

    @Test func `if no event matches, show prints the range of the log and exits with 1`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let said = "nothing matched; changes contains sequences 1 to 52, "
        for option in [
            ["--from", "53"], ["--from", "2099-01-01T00:00:00Z"], ["--type", "record.delete"], ["--where", "x=1"],
        ] {
            let shown = try await Command.run(["log", "show", folder + "/changes"] + option)
            #expect(shown.status == 1 && shown.output == "" && shown.errors.hasPrefix(said), "\(shown)")
        }
        let one = try await Command.run(["log", "show", folder + "/changes", "--from", "52"])
        #expect(one.status == 0 && one.errors == "")
    }

    @Test func `an error advises only options and commands that can help`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        for command in ["export", "stat", "verify", "migrate"] {
            let result = try await Program.run("belfry", ["log", command, "nope"], in: folder)
            #expect(result.status == 66 && !result.errors.contains("-p"), "\(result)")
            #expect(result.errors.contains("name a pipeline file, its data folder, a folder of logs, or a log"))
        }
        let shown = try await Program.run("belfry", ["log", "show", "nope"], in: folder)
        #expect(shown.errors.contains("-p FILE"), "\(shown)")
        try FileManager.default.removeItem(atPath: folder + "/pushes/00000000000000000001.log")
        for command in [["repair", folder + "/pushes"], ["ls", folder]] {
            let result = try await Command.run(["log"] + command)
            #expect(result.status == 65 && !result.errors.contains("log repair"), "\(result)")
            #expect(result.errors.contains("all segments are missing") && result.errors.contains("from a copy"))
        }
    }

    @Test func `show follows a log as it grows`() async throws {
        let notes = try Notes()
        let ingest = try Program(
            "belfry-ingest", ["--pipeline", notes.pipeline, try notes.write(Notes.phone(), to: "first")])
        await ingest.waitForMessage("2 lines sent")
        let show = try Program("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--follow", "--limit", "3"])
        #expect(await show.waitForOutputLine("subscription.save") != nil)
        _ = try await Program.run("belfry", ["send", notes.pipeline], input: Notes.change("n1"))
        let result = await show.result()
        #expect(result.status == 0)
        #expect(result.output.split(separator: "\n").count == 3)
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `show --follow ends after the event of --until, even if it is the last event of the log`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let last = try await Command.run(["log", "show", folder + "/changes", "--bare"])
        let count = last.output.split(separator: "\n").count
        let shown = try await Program.run(
            "belfry", ["log", "show", folder + "/changes", "--follow", "--until", "\(count)", "--bare"])
        #expect(shown.status == 0 && shown.output == last.output, "\(shown)")
    }

    @Test func `an export that cannot be read is reported as unreadable, not as cut off`() async throws {
        let notes = try Notes()
        for more in [[], ["--partial"]] {
            let result = try await Command.run(["log", "import", notes.folder, "--to", notes.folder + "/copy"] + more)
            #expect(result.status == 66, "\(result)")
            #expect(result.errors.contains("cannot read \(notes.folder): Is a directory"), "\(result)")
        }
    }

    @Test func `a missing folder, a pipeline without logs and a missing log are errors`() async throws {
        let notes = try Notes()
        let missing = try await Command.run(["log", "ls", notes.folder + "/nowhere"])
        #expect(missing.status == 66)
        let unused = try await Command.run(["log", "ls", notes.pipeline])
        #expect(unused.status == 66)
        #expect(unused.output == "" && unused.errors.hasPrefix("no logs yet in "))
        let unknown = try await Command.run(["log", "show", "changes", "-p", notes.pipeline])
        #expect(unknown.status == 66)
    }

    /// Changes one byte in the middle of a segment of the log.
    private func damage(_ directory: String) throws {
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".log") })
        let url = URL(fileURLWithPath: directory + "/" + name)
        var bytes = try Data(contentsOf: url)
        bytes[bytes.count / 2] ^= 0x20
        try bytes.write(to: url)
    }
}
