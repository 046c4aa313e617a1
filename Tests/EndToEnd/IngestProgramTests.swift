import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct IngestProgramTests {
    @Test func `each line of a file is ingested once, even if ingest starts twice`() async throws {
        let notes = try Notes()
        let file = try notes.write(Notes.phone() + Notes.changes(0..<3) + "nope\n", to: "in.ndjson")
        let arguments = ["--pipeline", notes.pipeline, "--exit-when-done", file]
        let first = try await Program.run("belfry-ingest", arguments)
        #expect(first.status == 65)
        #expect(
            first.errors.contains("in.ndjson: 6 lines sent, 1 refused\n")
                && first.errors.hasSuffix("ingest: stopped\n"), "\(first)")
        try notes.write(Notes.phone() + Notes.changes(0..<3) + "nope\n" + Notes.change("n3"), to: "in.ndjson")
        let second = try await Program.run("belfry-ingest", arguments)
        #expect(second.status == 65)
        #expect(
            second.errors.contains("in.ndjson: 1 line sent, 5 accepted and 1 refused in an earlier run\n")
                && second.errors.hasSuffix("ingest: stopped\n"), "\(second)")
        let shown = try await Program.run("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--bare"])
        #expect(shown.output.split(separator: "\n").count == 6)
    }

    @Test func `standard input is ingested each time`() async throws {
        let notes = try Notes()
        for _ in 0..<2 {
            let result = try await Program.run(
                "belfry-ingest", ["--pipeline", notes.pipeline, "--exit-when-done", "-"], input: Notes.change("n1"))
            #expect(result.status == 0)
            #expect(
                result.errors.contains("standard input: 1 line sent\n") && result.errors.hasSuffix("ingest: stopped\n"),
                "\(result)")
        }
        let shown = try await Program.run("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--bare"])
        #expect(shown.output.split(separator: "\n").count == 2)
    }

    @Test func `a pipe without a writer does not delay a stop`() async throws {
        let notes = try Notes()
        let pipe = notes.folder + "/in.pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline, pipe])
        #expect(await program.waitForMessage(": running, log ") != nil)
        program.signal(SIGTERM)
        let result = await program.result()
        #expect(result.status == 0 && result.errors.hasSuffix(": stopped\n"), "\(result)")
    }

    @Test func `a pipe is read until its writer closes it`() async throws {
        let notes = try Notes()
        let pipe = notes.folder + "/in.pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        Thread.detachNewThread {
            let writer = FileHandle(forWritingAtPath: pipe)
            writer?.write(Data(Notes.change("n1").utf8))
            writer?.closeFile()
        }
        let program = try Program("belfry-ingest", ["--pipeline", notes.pipeline, "--exit-when-done", pipe])
        let result = await program.result()
        #expect(result.status == 0 && result.errors.contains("in.pipe: 1 line sent"), "\(result)")
    }

    @Test func `five programs started by hand form a pipeline, even if ingest starts last`() async throws {
        let notes = try Notes()
        let programs = try ["deliver", "coalesce", "match", "payload", "ingest"].map {
            try Program("belfry-\($0)", ["--pipeline", notes.pipeline])
        }
        let sent = try await Program.run(
            "belfry", ["send", notes.pipeline], input: Notes.phone(transport: "screen") + Notes.change("n1"))
        #expect(sent.status == 0)
        #expect(await programs[0].waitForOutputLine("_alice on alice-phone") != nil)
        for program in programs { program.signal(SIGTERM) }
        for program in programs {
            let result = await program.result()
            #expect(result.status == 0)
            #expect(result.errors.contains(": running, log "))
            #expect(result.errors.hasSuffix(": stopped\n"))
        }
    }

    @Test func `a stage program runs only stages of its kind`() async throws {
        let notes = try Notes()
        let result = try await Program.run("belfry-match", ["--pipeline", notes.pipeline, "--stage", "deliver"])
        #expect(result.status == 64)
        #expect(result.errors.contains("stage deliver in \(notes.pipeline) is of kind deliver"))
    }
}
