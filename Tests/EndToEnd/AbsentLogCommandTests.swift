import Foundation
import Testing

/// A log that is not there must never be taken for one in which nothing happened.
@Suite(.timeLimit(.minutes(2)))
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
        ]
    }

    @Test(arguments: ["changes", "matches", "notifications", "pushes", "outcomes"])
    func `a log folder that is gone is named by every command`(name: String) async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: folder + "/" + name)
        for place in [notes.pipeline, notes.folder + "/data", folder] {
            for command in commands(on: place, of: notes) {
                let result = try await Program.run("belfry", command)
                #expect(result.status == 66, "\(command): \(result.errors)")
                #expect(
                    result.errors.contains("log \(name) ") && result.errors.contains("\(folder)/\(name)"), "\(command)")
            }
        }
    }

    @Test func `segments without log.json are named by every command`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: folder + "/matches/log.json")
        for place in [notes.pipeline, notes.folder + "/data", folder] {
            for command in commands(on: place, of: notes) + [["log", "show", "matches", "-p", place]] {
                let result = try await Program.run("belfry", command)
                #expect(result.status == 65, "\(command): \(result.errors)")
                #expect(result.errors.contains("\(folder)/matches/log.json is missing"), "\(command)")
                #expect(result.errors.contains("belfry log repair \(folder)/matches"), "\(command)")
            }
        }
        for command in ["stat", "verify", "export", "show", "migrate"] {
            let result = try await Program.run("belfry", ["log", command, folder + "/matches"])
            #expect(result.status == 65 && result.errors.contains("/matches/log.json is missing"), "\(command)")
        }
        let repaired = try await Program.run("belfry", ["log", "repair", folder + "/matches", "--yes"])
        #expect(repaired.status == 0, "\(repaired.errors)")
        #expect(try await Program.run("belfry", ["log", "verify", notes.pipeline]).status == 0)
    }

    @Test func `what is there is shown before what is not`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        try FileManager.default.removeItem(atPath: folder + "/pushes")
        for command in ["ls", "stat", "verify"] {
            let result = try await Program.run("belfry", ["log", command, notes.pipeline])
            #expect(result.output.split(separator: "\n").count == 4, "\(result.output)")
        }
        #expect(try await Program.run("belfry", ["log", "export", notes.pipeline]).output == "")
        #expect(try await Program.run("belfry", ["log", "verify", folder + "/outcomes"]).status == 0)
    }

    @Test func `a place without any log is no input to every command`() async throws {
        let notes = try Notes()
        try FileManager.default.createDirectory(atPath: notes.folder + "/empty", withIntermediateDirectories: false)
        for place in [notes.pipeline, notes.folder + "/empty"] {
            for command in commands(on: place, of: notes) where !["replay", "state"].contains(command[0]) {
                let result = try await Program.run("belfry", command)
                #expect(result.status == 66, "\(command): \(result.errors)")
                #expect(result.errors.contains("no log"), "\(command)")
            }
        }
    }
}
