import Foundation
import TestSupport
import Testing

/// Replays of a part of the logs, and of logs with missing segments. The result is `identical` only if something
/// was compared.
@Suite(.timeLimit(.minutes(5)))
struct ReplayRangeCommandTests {
    private static func notes() async throws -> Notes {
        let notes = try Notes()
        let input = Notes.phone() + (1..<6).map { (number: Int) in Notes.change("n\(number)", second: number) }.joined()
        let result = try await Program.run(
            "belfry", ["run", notes.pipeline, "--logs", notes.folder + "/logs"], input: input)
        #expect(result.status == 0)
        return notes
    }

    private static func replay(_ notes: Notes, _ more: String...) async throws -> Program.Result {
        try await Command.run(["replay", notes.pipeline, "--logs", notes.folder + "/logs"] + more)
    }

    @Test func `an empty range is refused`() async throws {
        let notes = try await Self.notes()
        let beyond = try await Self.replay(notes, "--from", "8")
        #expect(beyond.status == 66 && beyond.output.isEmpty, "\(beyond)")
        #expect(beyond.errors.contains("changes ends at 7, 2026-11-20T09:30:05Z; it has no events from 8 on"))
        let future = try await Self.replay(notes, "--from", "2030-01-01T00:00:00Z", "--json")
        #expect(future.status == 66 && future.output.isEmpty, "\(future)")
        for range in [("5", "4"), ("2026-11-20T09:30:00Z", "2026-11-20T09:29:59Z")] {
            let backwards = try await Self.replay(notes, "--from", range.0, "--until", range.1)
            #expect(backwards.status == 64 && backwards.output.isEmpty, "\(backwards)")
            let reason = "the range begins at \(range.0) but ends at \(range.1), which is earlier"
            #expect(backwards.errors.contains(reason), "\(backwards)")
        }
    }

    @Test func `the compared range is reported`() async throws {
        let notes = try await Self.notes()
        let part = try await Self.replay(notes, "--from", "4", "--until", "6")
        #expect(part.status == 0 && part.output.hasPrefix(#"{"result":"identical","#), "\(part)")
        #expect(part.errors.contains("match: identical, 6 input events; compared 3 events, matches 3 to 5"))
        #expect(part.errors.contains("deliver: identical, 5 input events; compared 3 events, outcomes 2 to 4"))
        let json = try await Self.replay(notes, "--from", "4", "--until", "6", "--json")
        #expect(json.output.hasPrefix(#"{"result":"identical","compared":12,"stages":["#), "\(json.output)")
        #expect(json.output.contains(#""untaken":0,"compared":3,"first":3,"last":5}"#), "\(json.output)")
        let last = try await Self.replay(notes, "--from", "-10m", "--until", "900")
        #expect(last.status == 0 && last.errors.contains("changes ends at 7, before 900\n"), "\(last)")
    }

    @Test func `a replay that compared nothing is never reported as identical`() async throws {
        let notes = try await Self.notes()
        let nobody = try await Self.replay(notes, "--only", "user=_nobody")
        #expect(nobody.status == 66 && nobody.output.hasPrefix(#"{"result":"nothing","compared":0,"#), "\(nobody)")
        #expect(nobody.errors.contains("match: nothing to compare\n"))
        #expect(nobody.errors.contains("nothing was compared: no event is about user _nobody\n"))
        let part = try await Self.replay(notes, "--only", "user=_nobody", "--from", "6")
        #expect(part.errors.contains("nothing was compared: no event in this range is about user _nobody\n"))
        let json = try await Self.replay(notes, "--only", "user=_nobody", "--json")
        #expect(json.status == 66 && json.output.hasPrefix(#"{"result":"nothing","compared":0,"#), "\(json)")
        let source = try await Self.replay(notes, "--stage", "ingest")
        #expect(source.status == 0 && source.output.hasPrefix(#"{"result":"recalled","#), "\(source)")
    }

    // MARK: Missing segments

    @Test
    func `a range whose segments are gone is refused, but a replay without a range begins with a snapshot`()
        async throws
    {
        let notes = try await Self.notes()
        let logs = try RewrittenLogs(of: notes.folder + "/logs")
        try logs.rewrite("changes", segmentBytes: 1)
        let replay = ["replay", notes.pipeline, "--logs", logs.path]
        #expect(try await Program.run("belfry", replay).status == 0)
        for first in [1, 3] { try FileManager.default.removeItem(atPath: Self.segment(first, of: "changes", logs)) }
        let gone = try await Command.run(replay + ["--until", "3"])
        #expect(gone.status == 65 && gone.output.isEmpty, "\(gone)")
        #expect(gone.errors.contains("every event of the range is gone: changes begins at 4\n"), "\(gone.errors)")
        let all = try await Program.run("belfry", replay)
        #expect(
            all.status == 0
                && all.errors.contains(
                    "match: the replay begins with the snapshot after input event 7, because older events are gone"),
            "\(all)")
        #expect(all.errors.contains("match: nothing to compare\n"), "\(all.errors)")
    }

    @Test(arguments: ["changes", "outcomes"])
    func `a missing segment is reported with its log and sequences`(_ log: String) async throws {
        let notes = try await Self.notes()
        let logs = try RewrittenLogs(of: notes.folder + "/logs")
        try logs.rewrite(log, segmentBytes: 1)
        try FileManager.default.removeItem(atPath: Self.segment(3, of: log, logs))
        let gap = try await Command.run(["replay", notes.pipeline, "--logs", logs.path])
        #expect(gap.status == 65 && gap.output.isEmpty, "\(gap)")
        #expect(gap.errors.contains("/\(log)/") && gap.errors.contains("3 to 3 are missing"), "\(gap)")
    }

    @Test func `the lost end of a log is mistaken for a slow stage only if there is no index`() async throws {
        let notes = try await Self.notes()
        let logs = try RewrittenLogs(of: notes.folder + "/logs")
        try logs.rewrite("outcomes", segmentBytes: 1)
        // Trace writes an index beside each log. The index shows later that the log has lost its end.
        _ = try await Command.run(["trace", "7", "-p", logs.path])
        try FileManager.default.removeItem(atPath: Self.segment(5, of: "outcomes", logs))
        let replay = ["replay", notes.pipeline, "--logs", logs.path]
        let lost = try await Program.run("belfry", replay)
        #expect(lost.status == 65 && lost.output.isEmpty, "\(lost)")
        #expect(lost.errors.contains("logs/outcomes has lost its events after 4: "), "\(lost.errors)")
        #expect(
            lost.errors.contains("/outcomes/index/00000000000000000005.index shows that there were more"),
            "\(lost.errors)")
        try FileManager.default.removeItem(atPath: logs.path + "/outcomes/index")
        let slow = try await Program.run("belfry", replay)
        let unprocessed = "; the stage had not processed the last 1 event of its input when its log ended"
        #expect(slow.status == 0 && slow.errors.contains(unprocessed), "\(slow)")
    }

    @Test func `a log without segments is not mistaken for an empty log`() async throws {
        let notes = try await Self.notes()
        try FileManager.default.removeItem(atPath: notes.folder + "/logs/outcomes/00000000000000000001.log")
        for command in [["replay"], ["whatif", "--set", "coalesce.window=1s"]] {
            let place = [notes.pipeline, "--logs", notes.folder + "/logs"]
            let empty = try await Command.run(command + place)
            #expect(empty.status == 65 && empty.output.isEmpty, "\(empty)")
            #expect(empty.errors.contains("outcomes has lost its events after 0: "), "\(empty)")
        }
    }

    private static func segment(_ first: Int, of log: String, _ logs: RewrittenLogs) -> String {
        let number = String(repeating: "0", count: 19) + "\(first)"
        return "\(logs.path)/\(log)/\(number).log"
    }
}
