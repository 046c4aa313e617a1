import EventLog
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct TapCommandTests {
    @Test func `a tap begins at the end and continues after a restart of its stage`() async throws {
        let notes = try Notes()
        let arguments = ["--pipeline", notes.pipeline]
        let before = try notes.write(Notes.phone(), to: "before")
        let first = try Program("belfry-ingest", arguments + [before])
        await first.waitForMessage("2 lines sent")
        let tap = try Program("belfry", ["tap", "ingest", "-p", notes.pipeline, "--limit", "2"])
        let early = try Program("belfry", ["tap", "ingest", "-p", notes.pipeline, "--from", "1"])
        #expect(await early.waitForOutputLine("\"sequence\":2") != nil)
        // Sends changes until the tap shows one. Then the tap is connected.
        var sent = 0
        while tap.hasNoOutput {
            _ = try await Program.run("belfry", ["send", notes.pipeline], input: Notes.change("n\(sent)"))
            sent += 1
        }
        first.signal(SIGKILL)
        _ = await first.result()
        let second = try Program("belfry-ingest", arguments)
        _ = try await Program.run("belfry", ["send", notes.pipeline], input: Notes.change("after"))
        let result = await tap.result()
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("{\"sequence\":") && !$0.contains("device.register") })
        second.signal(SIGTERM)
        #expect(await second.result().status == 0)
    }

    @Test func `a tap ends when nobody reads its standard output any more, even without new events`() async throws {
        let notes = try Notes()
        let ingest = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await ingest.waitForMessage("running")
        let tap = try Program("belfry", ["tap", "ingest", "-p", notes.pipeline], closingOutput: true)
        let result = await tap.result()
        #expect(result.status == -SIGPIPE && result.errors == "", "\(result)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a tap from an event that retention removed starts at the first event of the log`() async throws {
        let notes = try Notes()
        let text = try notes.read("notes.yaml").replacing("interval 50ms", with: "interval 50ms, segmentBytes: 64KiB")
        try notes.write(text, to: "notes.yaml")
        let first = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await first.waitForMessage("running")
        // The parts are sent one after another, so they are in several batches. A single batch would be in one segment.
        for part in 0..<4 {
            let changes = Notes.changes(part * 300..<(part + 1) * 300)
            _ = try await Program.run("belfry", ["send", notes.pipeline], input: changes)
        }
        first.signal(SIGTERM)
        _ = await first.result()
        let writer = try EventLogWriter(EventLogOptions(directory: notes.folder + "/data/logs", name: "changes"))
        let removed = try writer.trim(before: 500)
        try writer.close()
        let begin = try #require(removed.last).lastSequence + 1
        let second = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        let arguments = ["tap", "ingest", "-p", notes.pipeline, "--from", "1", "--limit", "2"]
        let result = try await Program.run("belfry", arguments)
        #expect(result.status == 0)
        #expect(
            result.output.split(separator: "\n").map { $0.prefix(15) }
                == ["{\"sequence\":\(begin)", "{\"sequence\":\(begin + 1)"].map { $0.prefix(15) })
        #expect(result.errors.contains("retention removed the events 1 to \(begin - 1)"), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        second.signal(SIGTERM)
        _ = await second.result()
    }

    @Test func `a tap from beyond the end of the log is refused, and the error names the last sequence`() async throws {
        let notes = try Notes()
        let ingest = try Program(
            "belfry-ingest", ["--pipeline", notes.pipeline, try notes.write(Notes.phone(), to: "first")])
        await ingest.waitForMessage("2 lines sent")
        let result = try await Program.run("belfry", ["tap", "ingest", "-p", notes.pipeline, "--from", "9999999"])
        #expect(result.status == 66 && !result.errors.contains("after"), "\(result)")
        #expect(
            result.errors.hasPrefix("ingest: there is no event 9999999 yet: log changes ends with 2; use --from 3 or "))
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
    }

    @Test func `a stage that does not run is reported as unavailable`() async throws {
        let notes = try Notes()
        let result = try await Program.run("belfry", ["tap", "match", "-p", notes.pipeline, "--timeout", "0.3"])
        #expect(result.status == 69)
        #expect(result.errors.contains("match.link: no answer"))
    }
}
