import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CaseCommandTests {
    @Test func `an exported case contains no personal names or tokens, and a run of it makes one push`() async throws {
        let notes = try Notes()
        let input =
            Notes.phone() + (1...9).map { (number: Int) in Notes.change("groceries\(number)", second: number) }.joined()
        let place = notes.folder + "/data/logs"
        let run = try await Program.run("belfry", ["run", notes.pipeline, "--logs", place], input: input)
        #expect(run.status == 0)
        let file = notes.folder + "/case.ndjson"
        let exported = try await Command.run(["trace", "6", "-p", notes.pipeline, "--export", file])
        #expect(exported.status == 0 && exported.output == "", "\(exported.errors)")
        #expect(exported.errors.contains("case.ndjson: 3 inputs of 11\n"), "\(exported.errors)")
        #expect(exported.errors.contains("run:    belfry run \(notes.pipeline) \(file)\n"))
        #expect(exported.errors.contains("expect: a push to "))
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for name in ["_alice", "alice-phone", "6a0f", "groceries"] { #expect(!text.contains(name), "\(name)") }
        let again = try await Program.run("belfry", ["run", notes.pipeline, file])
        #expect(again.status == 0 && again.output.split(separator: "\n").count == 1)
        let overwriting = try await Command.run(["trace", "6", "-p", notes.pipeline, "--export", file])
        #expect(overwriting.status == 73)
    }

    @Test func `explain exits with 0, 1, 64 or 66, and prints one JSON object`() async throws {
        let notes = try Notes()
        let place = notes.folder + "/logs"
        let input = Notes.phone() + Notes.change("n1", second: 1)
        _ = try await Program.run("belfry", ["run", notes.pipeline, "--logs", place], input: input)
        func explain(_ arguments: String...) async throws -> Program.Result {
            try await Command.run(["explain", "-p", place, "--change"] + arguments)
        }
        let pushed = try await explain("3", "--device", "alice-phone")
        #expect(pushed.status == 0 && pushed.errors == "" && pushed.isNDJSON)
        #expect(pushed.output.split(separator: "\n").count == 1)
        #expect(pushed.output.hasPrefix(#"{"change":3,"#) && pushed.output.contains(#""pushed":true"#))
        let same = try await explain("3", "--device", "alice-phone", "--no-index")
        #expect(same.output == pushed.output)
        let apart = try await Command.run([
            "explain", "-p", notes.pipeline, "--logs", place, "--change", "3", "--device", "alice-phone",
        ])
        #expect(apart.status == 0 && apart.output == pushed.output, "\(apart)")
        let export = try await Command.run(["trace", "3", "-p", place, "--export", notes.folder + "/case"])
        #expect(export.status == 64 && export.errors.contains("with -p FILE, and the logs with --logs"), "\(export)")
        #expect(try await explain("1", "--user", "_alice").status == 1)
        #expect(try await explain("3").status == 64)
        #expect(try await explain("9", "--user", "_alice").status == 66)
        let near = try await explain("3", "--device", "alice-phon")
        #expect(near.status == 66)
        #expect(near.errors.contains(#"did you mean "alice-phone"?"#))
    }
}
