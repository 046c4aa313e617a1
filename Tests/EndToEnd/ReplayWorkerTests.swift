import Foundation
import TestSupport
import Testing

/// Replays in which a stage is run by another program.
@Suite(.timeLimit(.minutes(5)))
struct ReplayWorkerTests {
    /// Logs of nineteen notes and two subscriptions. Each subscription watches all notes.
    private static func logs(_ notes: Notes) async throws -> String {
        let input =
            Notes.phone() + Notes.phone().replacing("feed", with: "more")
            + (1..<20).map { (number: Int) in Notes.change("n\(number)", second: number) }.joined()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", notes.folder + "/logs"], input: input)
        #expect(result.status == 0)
        return notes.folder + "/logs"
    }

    @Test(arguments: ["match", "coalesce", "payload", "deliver"])
    func `programs of the same build give the same output`(_ stage: String) async throws {
        let notes = try Notes()
        let logs = try await Self.logs(notes)
        for program in ["belfry", "belfry-" + stage] {
            let choice = "\(stage)=\(try Program.folder())/\(program)"
            let replayed = try await Program.run(
                "belfry", ["replay", notes.pipeline, "--logs", logs, "--stage", choice])
            #expect(replayed.status == 0 && replayed.output.hasPrefix(#"{"result":"identical","#), "\(replayed)")
            #expect(replayed.errors.contains("\(stage): identical, "))
            let compared = try await Program.run(
                "belfry", ["whatif", notes.pipeline, "--logs", logs, "--stage", choice])
            #expect(compared.status == 0, "\(compared)")
            let same = #"{"type":"summary","pushes":38,"added":0,"removed":0,"changed":0,"categories":{}}"#
            #expect(compared.output == same + "\n")
        }
    }

    @Test func `a build that drops every third match gives a difference`() async throws {
        let notes = try Notes()
        let logs = try await Self.logs(notes)
        let choice = "match=" + (try Self.writeDroppingWorker(notes))
        let replayed = try await Program.run(
            "belfry", ["replay", notes.pipeline, "--logs", logs, "--stage", choice, "--json"])
        #expect(replayed.status == 1, "\(replayed.errors)")
        let difference = #""sequence":5,"pointer":"/subscriptionID","recorded":"feed","replayed":"more","#
        #expect(replayed.output.contains(difference), "\(replayed.output)")
        let compared = try await Program.run("belfry", ["whatif", notes.pipeline, "--logs", logs, "--stage", choice])
        #expect(compared.status == 1)
        #expect(
            compared.output.contains(#""type":"summary","pushes":38,"added":0,"removed":12,"#), "\(compared.output)")
        #expect(
            compared.output.contains(#""feed","added":0,"removed":6,"changed":0,"categories":{},"change":6}"#),
            "\(compared.output)")
    }

    @Test func `a program that is not a worker is reported with its behaviour`() async throws {
        let notes = try Notes()
        let logs = try await Self.logs(notes)
        func replay(_ program: String) async throws -> Program.Result {
            try await Program.run("belfry", ["replay", notes.pipeline, "--logs", logs, "--stage", "match=\(program)"])
        }
        let dead = try await replay("/bin/false")
        #expect(dead.status == 69 && dead.errors.contains("/bin/false exited with status 1"), "\(dead)")
        let babbling = try await replay("/bin/echo")
        #expect(babbling.status == 69)
        #expect(babbling.errors.contains("does not speak the protocol of replay workers"), "\(babbling)")
        #expect(try await replay("/nowhere").status == 66)
        let source = try await Program.run(
            "belfry", ["replay", notes.pipeline, "--logs", logs, "--stage", "ingest=/bin/false"])
        #expect(source.status == 64)
    }

    // MARK: A program in another language

    /// Writes a worker that forwards all messages to `belfry-match`, and drops every third match of its output.
    ///
    /// - Returns: The path of the worker.
    private static func writeDroppingWorker(_ notes: Notes) throws -> String {
        let path = try notes.write(droppingWorker(around: try Program.folder() + "/belfry-match"), to: "dropping.py")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private static func droppingWorker(around program: String) -> String {
        """
        #!\(Python.program)
        import json, subprocess, sys

        worker = subprocess.Popen(["\(program)", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        matches = 0

        def read(stream):
            line = stream.readline()
            if not line:
                sys.exit(0)
            header = json.loads(line)
            return header, stream.read(header.get("bytes", 0))

        def write(stream, header, body):
            stream.write(json.dumps({**header, "bytes": len(body)}).encode() + b"\\n" + body)
            stream.flush()

        def is_kept(line):
            global matches
            if json.loads(line)["type"] == "match":
                matches += 1
                return matches % 3 != 0
            return True

        def drop_matches(header, body):
            end = len(body) - sum(line["bytes"] for line in header["rejected"])
            lines = body[:end].splitlines(keepends=True)
            kept = [line if is_kept(line) else b"" for line in lines]
            marks = [[input, now, sum(map(len, kept[:events])), sum(map(bool, kept[:events]))]
                     for input, now, _, events in header["marks"]]
            return {**header, "marks": marks, "events": sum(map(bool, kept))}, b"".join(kept) + body[end:]

        while True:
            write(worker.stdin, *read(sys.stdin.buffer))
            header, body = read(worker.stdout)
            write(sys.stdout.buffer, *(drop_matches(header, body) if header["type"] == "done" else (header, body)))

        """
    }
}
