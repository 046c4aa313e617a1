import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SendCommandTests {
    /// Starts ingest and no other stage. Its log has two events, the commands of ``Notes/phone(transport:)``.
    private func ingest(_ notes: Notes) async throws -> Program {
        let program = try Program(
            "belfry-ingest", ["--pipeline", notes.pipeline, try notes.write(Notes.phone(), to: "first")])
        await program.waitForMessage("2 lines sent")
        return program
    }

    @Test func `refused lines are reported, and the others are accepted`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let result = try await Program.run(
            "belfry", ["send", notes.pipeline], input: Notes.change("n1") + "[]\n" + Notes.change("n2"))
        #expect(result.status == 65)
        #expect(result.errors.contains("standard input:2: a line must be one JSON object"))
        #expect(result.errors.hasSuffix("3 lines sent, 1 refused\n"))
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
        let shown = try await Program.run("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--bare"])
        #expect(shown.output.split(separator: "\n").count == 4)
    }

    @Test func `a line is sent as soon as it is read`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let tap = try Program("belfry", ["tap", "ingest", "-p", notes.pipeline, "--from", "1", "--bare"])
        let send = try Program("belfry", ["send", notes.pipeline])
        try send.write(Notes.change("early"))
        #expect(await tap.waitForOutputLine("early") != nil)
        try send.write("nope\n")
        #expect(await send.waitForMessage("standard input:2: ") != nil)
        try send.endInput()
        #expect(await send.result().status == 65)
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a named producer continues where it stopped`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let file = try notes.write(Notes.changes(0..<3), to: "in.ndjson")
        let arguments = ["send", notes.pipeline, "--producer", "shop", file]
        #expect(try await Program.run("belfry", arguments).errors == "3 lines sent\n")
        try notes.write(Notes.changes(0..<5), to: "in.ndjson")
        #expect(try await Program.run("belfry", arguments).errors == "2 lines sent, 3 accepted in an earlier run\n")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
        let shown = try await Program.run("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--bare"])
        let names = shown.output.matches(of: /"recordName":"([^"]*)"/).map { String($0.1) }
        #expect(names == ["n0", "n1", "n2", "n3", "n4"])
    }

    @Test func `a line that was refused in an earlier run is still reported as refused`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let bad = try notes.write("{\"n\":1}\n", to: "bad.ndjson")
        let mixed = try notes.write(Notes.changes(0..<2) + "nope\n" + Notes.change("n3"), to: "mixed.ndjson")
        func send(_ producer: String, _ file: String) async throws -> Program.Result {
            try await Command.run(["send", notes.pipeline, "--producer", producer, file])
        }
        #expect(try await send("r", bad).errors.hasSuffix("1 line sent, 1 refused\n"))
        let again = try await send("r", bad)
        #expect(again.status == 65 && again.errors == "0 lines sent, 1 refused in an earlier run\n", "\(again)")
        #expect(try await send("m", mixed).status == 65)
        let rest = try await send("m", mixed)
        #expect(rest.status == 65, "\(rest)")
        #expect(rest.errors == "0 lines sent, 3 accepted and 1 refused in an earlier run\n", "\(rest)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a producer name belongs to the first producer that uses it, and others cannot use it`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let garbage = try notes.write("garbage\ngarbage\ngarbage\n", to: "garbage")
        let stranger = [
            "send", "--door", "ipc://\(notes.folder)/data/ingest.door", "--producer", "shop", "--secret",
            notes.folder + "/stranger.secret",
        ]
        #expect(try await Command.run(stranger + [garbage]).status == 65)
        let file = try notes.write(Notes.changes(0..<3), to: "in.ndjson")
        let refused = try await Command.run(["send", notes.pipeline, "--producer", "shop", file])
        #expect(refused.status == 77)
        #expect(
            refused.errors.contains("the producer name 'shop' belongs to the program that first used it"),
            "\(refused.errors)")
        #expect(!refused.errors.contains("earlier run") && refused.errors.hasSuffix("no line was accepted yet\n"))
        let other = try await Command.run(["send", notes.pipeline, "--producer", "shop-2", file])
        #expect(other.errors == "3 lines sent\n")
        #expect(try await Command.run(stranger + [file]).status == 65)
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test(arguments: ["n9 n1 n2 n3", "n0 n1", "n1 n2 n3"])
    func `input that does not begin with the lines of earlier runs is refused`(names: String) async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let file = try notes.write(Notes.changes(0..<3), to: "in.ndjson")
        let arguments = ["send", notes.pipeline, "--producer", "shop", file]
        #expect(try await Command.run(arguments).errors == "3 lines sent\n")
        try notes.write(names.split(separator: " ").map { Notes.change(String($0)) }.joined(), to: "in.ndjson")
        let result = try await Command.run(arguments)
        #expect(result.status == 65)
        #expect(
            result.errors.hasPrefix(
                "\(file) does not begin with the 3 lines that producer shop sent in earlier runs. Nothing was sent"),
            "\(result.errors)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `if the second of two files has changed, the error is about the input and names no file`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let arguments = [
            "send", notes.pipeline, "--producer", "shop", try notes.write(Notes.changes(0..<2), to: "a.ndjson"),
            try notes.write(Notes.changes(2..<4), to: "b.ndjson"),
        ]
        #expect(try await Command.run(arguments).errors == "4 lines sent\n")
        try notes.write(Notes.changes(7..<9), to: "b.ndjson")
        let result = try await Command.run(arguments)
        #expect(result.status == 65)
        #expect(result.errors.hasPrefix("the input does not begin with the 4 lines that producer shop"), "\(result)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test(arguments: [
        ["--producer", "~shop"], ["--secret", "file"], ["--server-key", "short"],
        ["--door", "ipc://x", "--producer", "shop"], ["--door", "ipc://x", "--key", "file"],
    ])
    func `invalid and incomplete options are a usage error`(options: [String]) async throws {
        #expect(try await Command.run(["send", "pipeline.yaml"] + options).status == 64)
    }

    @Test func `a malformed address for --door is a usage error`() async throws {
        let result = try await Command.run(["send", "--door", "nonsense"])
        #expect(result.status == 64 && result.errors.contains("nonsense"), "\(result)")
    }

    @Test func `after Ctrl-C, send reports that it stopped`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let send = try Program("belfry", ["send", notes.pipeline])
        try send.write("nope\n" + Notes.change("n1"))
        let refused = await send.waitForMessage("standard input:1: ")
        #expect(refused?.contains("not JSON: 'o' where null is needed at byte 1 (json.unexpected_byte)") == true)
        send.signal(SIGINT)
        let result = await send.result()
        #expect(result.status == 130 && result.errors.contains("stopped: "), "\(result)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a door that does not answer is reported as unavailable`() async throws {
        let notes = try Notes()
        let result = try await Program.run(
            "belfry", ["send", notes.pipeline, "--timeout", "0.3"], input: Notes.change("n1"))
        #expect(result.status == 69)
        #expect(result.errors.contains("ingest.door: no answer for 0.3"))
        #expect(result.errors.contains("is the stage running? (`belfry up FILE` starts it)"))
        #expect(result.errors.hasSuffix("no line was accepted yet\n"))
    }

    @Test func `with --wait, send waits until the stage is running`() async throws {
        let notes = try Notes()
        let file = try notes.write(Notes.change("n1"), to: "in.ndjson")
        let waiting = try Program("belfry", ["send", notes.pipeline, "--wait", file])
        #expect(try await Command.run(["send", notes.pipeline, "--timeout", "0.5", file]).status == 69)
        #expect(waiting.isRunning)
        let ingest = try await ingest(notes)
        let sent = await waiting.result()
        #expect(sent.status == 0 && sent.errors == "1 line sent\n", "\(sent)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `unanswered lines are reported: the stage may still accept them`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let send = try Program("belfry", ["send", notes.pipeline, "--timeout", "2"])
        try send.write("nope\n")
        #expect(await send.waitForMessage("standard input:1: ") != nil)
        try ingest.suspend()
        try send.write(Notes.changes(0..<2))
        let result = await send.result()
        ingest.signal(SIGCONT)
        #expect(result.status == 69, "\(result)")
        let said = "0 lines accepted, 1 refused; the stage may still accept 2 lines from standard input:2 on"
        #expect(result.errors.contains(said), "\(result)")
        while try await eventCount(notes) < 4 { try await Task.sleep(for: .milliseconds(50)) }
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
        #expect(try await eventCount(notes) == 4)
    }

    /// The number of events in the changes log.
    private func eventCount(_ notes: Notes) async throws -> Int {
        let shown = try await Program.run("belfry", ["log", "show", "changes", "-p", notes.pipeline, "--bare"])
        return shown.output.split(separator: "\n").count
    }

    @Test func `each line over a limit or with a zero byte is refused, and the others are accepted`() async throws {
        let notes = try Notes()
        let ingest = try await ingest(notes)
        let long = #"{"type":""# + String(repeating: "x", count: 10_000_000) + "\"}\n"
        let deep = String(repeating: "[", count: 10_000) + "\n"
        let result = try await Program.run(
            "belfry", ["send", notes.pipeline, "--timeout", "60"], input: long + deep + "\u{0}\n" + Notes.change("n1"))
        #expect(result.status == 65)
        #expect(result.errors.contains("standard input:1: 10000011 bytes, over the limit"))
        #expect(result.errors.contains("standard input:2: nested deeper than the limit"))
        #expect(result.errors.contains("standard input:3: not JSON: byte 0x0"))
        #expect(result.errors.hasSuffix("4 lines sent, 3 refused\n"))
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }
}
