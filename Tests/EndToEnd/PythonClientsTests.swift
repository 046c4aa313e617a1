import Foundation
import TestSupport
import Testing

/// The producer and the consumer in `Pipelines/clients`. They were written from the manual's page about the wire
/// protocol.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
struct PythonClientsTests {
    @Test func `after ingest is killed, each line is in the log once and printed once, in order`() async throws {
        let notes = try Notes()
        try notes.write("0123456789abcdef\n", to: "secret")
        let first = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await first.waitForMessage("running")
        let changes = Notes.changes(0..<10_000)
        let consumer = try consumer(notes, limit: 10_002)
        #expect(try await producer(notes, Notes.phone()).result().status == 0)
        await consumer.waitForOutputLine(#""sequence":2,"#)

        let producer = try producer(notes, Notes.phone() + changes + "nope\n")
        await consumer.waitForOutputLine(#""sequence":100,"#)
        first.signal(SIGKILL)
        _ = await first.result()
        #expect(producer.isRunning, "the producer ended before ingest was killed")
        let second = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        let sent = await producer.result()
        #expect(sent.status == 65)
        #expect(sent.errors.hasPrefix("2 lines were sent in an earlier run, 0 of them refused\n"), "\(sent)")
        #expect(sent.errors.contains("line 10003: ") && sent.errors.contains("(json.unexpected_byte)\n"), "\(sent)")
        #expect(sent.errors.hasSuffix("10003 lines sent, 1 refused\n"), "\(sent)")

        let names = (0..<10_000).map { "n\($0)" }
        let shown = try await Command.run(["log", "show", "changes", "-p", notes.pipeline, "--bare"])
        #expect(recordNames(shown.output) == names)
        let read = await consumer.result()
        #expect(read.status == 0 && recordNames(read.output) == names)
        #expect(sequences(read.output) == Array(1...10_002))

        let rest = try self.consumer(notes, limit: 1)
        let more = try await self.producer(notes, Notes.phone() + changes + "nope\n" + Notes.change("last")).result()
        #expect(
            more.errors
                == "10003 lines were sent in an earlier run, 1 of them refused\n10004 lines sent, 1 refused\n")
        let last = await rest.result()
        #expect(sequences(last.output) == [10_003] && recordNames(last.output) == ["last"], "\(last)")
        second.signal(SIGTERM)
        #expect(await second.result().status == 0)
    }

    @Test func `the producer sends a records.modify that is longer than the limit of other commands`() async throws {
        let notes = try Notes()
        try notes.write("0123456789abcdef\n", to: "secret")
        let ingest = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await ingest.waitForMessage("running")
        let title = String(repeating: "x", count: 700_000)
        let operations = ["a", "b"].map { name in
            #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","#
                + #""zoneID":{"zoneName":"_defaultZone"},"fields":{"title":{"value":"\#(title)","type":"STRING"}}}}"#
        }
        let line =
            #"{"type":"records.modify","container":"iCloud.com.example.Notes","environment":"development","#
            + #""database":"private","owner":"_alice","operations":[\#(operations.joined(separator: ","))]}"#
        let sent = try await producer(notes, line + "\n").result()
        #expect(sent.status == 0 && sent.errors == "1 line sent, 0 refused\n", "\(sent)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    private func producer(_ notes: Notes, _ lines: String) throws -> Program {
        let input = try notes.write(lines, to: "in.ndjson")
        let door = "ipc://\(notes.folder)/data/ingest.door"
        let arguments = [door, "orders", input, "--secret", notes.folder + "/secret"]
        return try Program(Python.program, [Python.clients + "/producer.py"] + arguments)
    }

    private func consumer(_ notes: Notes, limit: Int) throws -> Program {
        let link = "ipc://\(notes.folder)/data/ingest.link"
        let arguments = [link, notes.folder + "/position", "--limit", "\(limit)"]
        return try Program(Python.program, [Python.clients + "/consumer.py"] + arguments)
    }

    private func recordNames(_ lines: String) -> [String] {
        lines.split(separator: "\n").compactMap { $0.firstMatch(of: /"recordName":"([^"]*)"/).map { String($0.1) } }
    }

    private func sequences(_ lines: String) -> [Int] {
        lines.split(separator: "\n").compactMap { $0.prefixMatch(of: /\{"sequence":([0-9]+),/).flatMap { Int($0.1) } }
    }
}
