import Foundation
import TestSupport
import Testing

/// Commands report missing logs, and missing or damaged files of a log. They do not mistake a missing log for an empty
/// log, except where it looks like the log of a stage that never ran.
@Suite(.timeLimit(.minutes(5)))
struct AbsentLogCommandTests {
    private func logs(_ notes: Notes) async throws -> String {
        let folder = notes.folder + "/data/logs"
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", folder], input: Notes.phone() + Notes.change("n1", second: 1))
        #expect(result.status == 0)
        return folder
    }

    private func commands(on place: String, of notes: Notes) -> [[String]] {
        [
            ["log", "ls", place], ["log", "stat", place], ["log", "verify", place], ["log", "export", place],
            ["log", "migrate", place], ["trace", "3", "-p", place],
            ["explain", "--change", "3", "--user", "_alice", "-p", place],
            ["replay", notes.pipeline, "--logs", place == notes.pipeline ? notes.folder + "/data" : place],
            ["state", notes.pipeline, "devices", "--logs", place == notes.pipeline ? notes.folder + "/data" : place],
            ["replay", place], ["whatif", place, "--set", "coalesce.window=0s"], ["state", place, "pending"],
        ]
    }

    @Test(arguments: Tier.some(of: ["changes", "matches", "notifications", "pushes", "outcomes"]))
    func `commands report a missing log folder`(name: String) async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: folder + "/" + name)
        for place in [notes.pipeline, notes.folder + "/data", folder] {
            // Without a pipeline file, a missing last log looks like the log of a stage that never ran.
            for command in commands(on: place, of: notes) where name != "outcomes" || command.contains(notes.pipeline) {
                let result = try await Command.run(command)
                #expect(result.status == 66, "\(command): \(result.errors)")
                #expect(
                    result.errors.contains("log \(name) ") && result.errors.contains("\(folder)/\(name)"), "\(command)")
            }
        }
    }

    @Test(arguments: ["changes", "matches"])
    func `no state is shown for a log without segments`(name: String) async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        for file in try FileManager.default.contentsOfDirectory(atPath: folder + "/" + name)
        where file.hasSuffix(".log") {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)/\(file)")
        }
        for place in [[notes.pipeline, "--logs", folder], [folder]] {
            let state = try await Command.run(["state", place[0], "pending"] + place.dropFirst())
            #expect(state.status == 65 && state.errors.contains("log \(name): all segments are missing"), "\(state)")
            #expect(state.output.isEmpty, "\(state)")
        }
    }

    @Test func `commands report segments without log.json`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: folder + "/matches/log.json")
        for place in [notes.pipeline, notes.folder + "/data", folder] {
            for command in commands(on: place, of: notes) + [["log", "show", "matches", "-p", place]] {
                let result = try await Command.run(command)
                #expect(result.status == 65, "\(command): \(result.errors)")
                #expect(result.errors.contains("\(folder)/matches/log.json is missing"), "\(command)")
                #expect(result.errors.contains("belfry log repair \(folder)/matches"), "\(command)")
            }
        }
        for command in ["stat", "verify", "export", "show", "migrate"] {
            let result = try await Command.run(["log", command, folder + "/matches"])
            #expect(result.status == 65 && result.errors.contains("/matches/log.json is missing"), "\(command)")
        }
        let repaired = try await Command.run(["log", "repair", folder + "/matches", "--yes"])
        #expect(repaired.status == 0, "\(repaired.errors)")
        #expect(try await Command.run(["log", "verify", notes.pipeline]).status == 0)
    }

    @Test func `if a log is missing, ls, stat and verify show the others, and export prints nothing`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: folder + "/pushes")
        for command in ["ls", "stat", "verify"] {
            let result = try await Command.run(["log", command, notes.pipeline])
            #expect(result.output.split(separator: "\n").count == 4, "\(result.output)")
        }
        #expect(try await Command.run(["log", "export", notes.pipeline]).output == "")
        #expect(try await Command.run(["log", "verify", folder + "/outcomes"]).status == 0)
    }

    @Test func `an NDJSON file is refused in place of a log, and log repair refuses a folder of logs`() async throws {
        let notes = try Notes()
        let file = try notes.write(Notes.phone(), to: "case.ndjson")
        for command in [
            ["ls", file], ["show", file], ["stat", file], ["repair", file], ["show", "changes", "-p", file],
        ] {
            let result = try await Command.run(["log"] + command)
            let reason = "\(file) is an NDJSON file, not a log"
            #expect(result.status == 66 && result.errors.hasPrefix(reason), "\(result.errors)")
        }
        let folder = try await logs(notes)
        let repair = try await Command.run(["log", "repair", folder])
        #expect(repair.status == 64 && repair.errors.contains("name one of changes, matches, "))
    }

    @Test func `log commands, trace, explain and whatif refuse a pipeline or folder without logs`() async throws {
        let notes = try Notes()
        try FileManager.default.createDirectory(atPath: notes.folder + "/empty", withIntermediateDirectories: false)
        for place in [notes.pipeline, notes.folder + "/empty"] {
            for command in commands(on: place, of: notes) where !["replay", "state"].contains(command[0]) {
                let result = try await Command.run(command)
                #expect(result.status == 66, "\(command): \(result.errors)")
                #expect(result.errors.contains("no log"), "\(command)")
            }
        }
    }

    @Test func `log commands and trace report that the beginning of a log is missing`() async throws {
        let notes = try Notes()
        let folder = notes.folder + "/logs"
        let event = Notes.change("n5").dropLast()
        let lines = """
            {"log":"changes","identity":"0d0832cf-b35b-41a9-a717-fa8ea3dfd84a","format":1}
            {"segment":5,"now":"1970-01-01T00:00:00Z","cursor":{}}
            {"first":5,"count":1,"now":"1970-01-01T00:00:01Z","cursor":{}}
            \(event)
            {"end":[{"log":"changes","batches":1,"events":1}]}

            """
        let imported = try await Command.run(["log", "import", "-", "--to", folder], input: lines)
        #expect(imported.status == 0, "\(imported.errors)")
        let trimmed = try await Command.run(["log", "show", folder + "/changes", "--from", "1"])
        #expect(trimmed.status == 65 && trimmed.errors.contains("changes no longer has sequence 1: it begins with 5"))
        #expect(try await Command.run(["log", "verify", folder]).status == 0)
        try FileManager.default.removeItem(atPath: folder + "/changes/00000000000000000005.first")
        let commands = [
            ["log", "ls", folder], ["log", "stat", folder], ["log", "stat", folder + "/changes"],
            ["log", "show", folder + "/changes"], ["trace", "changes:5", "-p", folder], ["trace", "n5", "-p", folder],
        ]
        for command in commands + [["log", "export", folder]] {
            let result = try await Command.run(command)
            #expect(result.status == 65, "\(command): \(result.errors)")
            #expect(result.errors.contains("log changes: sequences 1 to 4 are missing"), "\(command): \(result.errors)")
            #expect(result.output.isEmpty == command.contains("export"), "\(command)")
        }
        let verified = try await Command.run(["log", "verify", folder])
        #expect(verified.status == 1 && verified.output.contains("sequences 1 to 4 are missing"))
        #expect(try await Command.run(["log", "repair", folder + "/changes", "--yes"]).status == 0)
        #expect(try await Command.run(["log", "verify", folder]).status == 0)
    }

    @Test(arguments: ["changes", "outcomes"])
    func `a log that lost all segments is not mistaken for an empty log`(name: String) async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)/00000000000000000001.log")
        for command in [["log", "ls", folder], ["log", "stat", folder], ["log", "export", folder]] {
            let result = try await Command.run(command)
            #expect(
                result.status == 65 && result.errors.contains("log \(name): all segments are missing"), "\(command)")
        }
        let traced = try await Command.run(["trace", "n1", "-p", folder])
        #expect(traced.status == 65 && traced.errors.contains("log \(name): all segments are missing"))
        #expect(try await Command.run(["log", "verify", folder]).status == 1)
        #expect(try await Command.run(["log", "repair", "\(folder)/\(name)"]).status == 65)
    }

    @Test func `a damaged index is only a note, but damaged settings are a problem with advice`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        #expect(try await Command.run(["trace", "n1", "-p", folder]).status == 0)
        try Data("nonsense of sixty-four bytes and more, so that it has a header to be compared with".utf8)
            .write(to: URL(fileURLWithPath: folder + "/changes/index/00000000000000000001.index"))
        let noted = try await Program.run("belfry", ["log", "verify", folder], onTerminal: true)
        #expect(noted.status == 0, "\(noted.output)")
        #expect(noted.output.contains("changes: sound") && noted.output.contains("changes: note: "))
        let path = folder + "/notifications/settings.ndjson"
        let sound = try String(contentsOfFile: path, encoding: .utf8)
        for (line, wrong) in [
            (2, sound + "{}\n"), (1, sound.replacing("\"settings\"", with: "\"sittings\"")), (2, sound + "{"),
        ] {
            try Data(wrong.utf8).write(to: URL(fileURLWithPath: path))
            let verified = try await Command.run(["log", "verify", folder])
            #expect(verified.status == 1 && verified.output.contains("line \(line): "), "\(verified.output)")
            let replayed = try await Command.run(["replay", notes.pipeline, "--logs", folder])
            #expect(replayed.status == 65, "\(replayed.errors)")
            #expect(
                replayed.errors.contains("\(path), line \(line): ") && replayed.errors.contains("remove only this file")
            )
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(try await Command.run(["replay", notes.pipeline, "--logs", folder]).status == 0)
    }

    @Test func `verify reports missing and altered files beside a log`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let settings = folder + "/notifications/settings.ndjson"
        let cases: [(file: String, change: (String) -> String?, reason: String)] = [
            (settings, { $0.replacing("\"0s\"", with: "\"9s\"") }, "changed after Belfry wrote them"),
            (settings, { _ in nil }, "missing, but "),
            (folder + "/changes/settings.ndjson", { _ in nil }, "missing, but "),
            (folder + "/matches/upstream.json", { _ in nil }, "the log was made from 'changes'"),
            (folder + "/outcomes/upstream.json", { _ in nil }, "the log was made from 'pushes'"),
            (folder + "/pushes/log.json", { $0.replacing("pushes", with: "pushed") }, "log.json names log 'pushed'"),
        ]
        for (file, change, reason) in cases {
            let sound = try String(contentsOfFile: file, encoding: .utf8)
            if let changed = change(sound) {
                #expect(changed != sound)
                try Data(changed.utf8).write(to: URL(fileURLWithPath: file))
            } else {
                try FileManager.default.removeItem(atPath: file)
            }
            let verified = try await Command.run(["log", "verify", folder])
            #expect(verified.status == 1, "\(file): \(verified)")
            #expect(verified.output.contains("\"file\":\"\(file)\"") && verified.output.contains(reason), "\(verified)")
            try Data(sound.utf8).write(to: URL(fileURLWithPath: file))
        }
        #expect(try await Command.run(["log", "verify", folder]).status == 0)
    }

    @Test(arguments: [2, 3, 4])
    func `a folder with only the first logs is accepted with a note, unless its last log is known to have a reader`(
        count: Int
    ) async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let names = ["changes", "matches", "notifications", "pushes", "outcomes"]
        for name in names[count...] { try FileManager.default.removeItem(atPath: folder + "/" + name) }
        let note =
            "note: \(folder) contains no \(names[count...].joined(separator: ", ")); it is assumed"
        for command in [
            ["log", "ls", folder], ["log", "stat", folder], ["log", "verify", folder], ["log", "export", folder],
            ["trace", "3", "-p", folder], ["replay", folder],
        ] {
            let result = try await Command.run(command)
            #expect(result.status == 0 && result.errors.hasPrefix(note), "\(command): \(result)")
        }
        let explained = try await Command.run(["explain", "--change", "3", "--user", "_alice", "-p", folder])
        #expect(explained.status == 1 && explained.output.contains("outcome.pending"), "\(explained)")
        // `consumers.json` names the stages that read the log, so it proves that the next stage existed.
        let consumers = #"[{"name":"next","first":1}]"# + "\n"
        try Data(consumers.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(names[count - 1])/consumers.json"))
        let known = try await Command.run(["log", "ls", folder])
        #expect(known.status == 66 && known.errors.contains("log \(names[count]) is missing"), "\(known)")
    }
}
