import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TraceCommandTests {
    private func logs(_ notes: Notes) async throws -> String {
        let folder = notes.folder + "/logs"
        let input =
            Notes.phone() + Notes.change("n1", second: 1) + Notes.change("n2", second: 2)
            + Notes.change("n1", second: 3)
        let result = try await Program.run("belfry", ["run", notes.pipeline, "--logs", folder], input: input)
        #expect(result.status == 0)
        return folder
    }

    @Test func `without a terminal, trace prints one JSON object, or the form that an option names`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let traced = try await Command.run(["trace", "n2", "-p", folder])
        #expect(traced.status == 0 && traced.errors == "")
        #expect(traced.isNDJSON && traced.output.split(separator: "\n").count == 1)
        #expect(traced.output.hasPrefix(#"{"asked":"n2","as":"record","targets":["changes:4"],"#))
        let tree = try await Command.run(["trace", "4", "--pipeline", folder, "--tree"])
        #expect(tree.output.split(separator: "\n").count == 5)
        #expect(tree.output.contains("outcome  accepted _alice/alice-phone by apns"))
        let chart = try await Command.run(["trace", "4", "-p", folder, "--mermaid"])
        #expect(chart.output.hasPrefix("flowchart TD\n"))
    }

    @Test func `several results are listed, with advice on how to choose one`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let listed = try await Command.run(["trace", "n1", "-p", folder, "--tree"])
        #expect(listed.status == 0)
        #expect(listed.output.split(separator: "\n").count == 2)
        #expect(listed.errors == "trace one of them, such as changes:5\n")
    }

    @Test func `trace exits with 1 for an unknown ID, with 64 for an empty ID, with 66 for a missing folder`()
        async throws
    {
        let notes = try Notes()
        let folder = try await logs(notes)
        let missing = try await Command.run(["trace", "no\u{1B}body", "-p", folder])
        #expect(missing.status == 1 && missing.output == "")
        #expect(missing.errors.hasPrefix(#"nothing found for 'no\u{1b}body': no record with this name in changes;"#))
        #expect(try await Command.run(["trace", "", "-p", folder]).status == 64)
        #expect(try await Command.run(["trace", "1", "-p", folder + "/nowhere"]).status == 66)
    }

    @Test func `--no-index makes no file`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
        let plain = try await Command.run(["trace", "n2", "-p", folder, "--no-index"])
        #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() == names)
        let indexed = try await Command.run(["trace", "n2", "-p", folder])
        #expect(FileManager.default.fileExists(atPath: folder + "/changes/index"))
        #expect(plain.output == indexed.output)
        let verified = try await Command.run(["log", "verify", folder])
        #expect(verified.status == 0)
    }

    @Test func `trace reports a damaged log`() async throws {
        let notes = try Notes()
        let folder = try await logs(notes)
        let url = URL(fileURLWithPath: folder + "/matches/00000000000000000001.log")
        var bytes = try Data(contentsOf: url)
        bytes[100] ^= 1
        try bytes.write(to: url)
        let traced = try await Command.run(["trace", "n2", "-p", folder])
        #expect(traced.status == 65)
        #expect(traced.errors.contains("is damaged at byte"))
    }
}
