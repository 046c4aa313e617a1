import Testing
import Time

@testable import EventLog

/// `verify` compares the cursor of a log with the upstream log, and the name in the log's manifest with the name of the
/// log's folder. Then it runs the checks that its caller passes.
@Suite struct UpstreamCheckTests {
    private let identity = LogIdentity(seed: "test", name: "changes")

    private func writeChanges(in scratch: Scratch, events: Int) throws {
        var options = scratch.options()
        (options.name, options.identity) = ("changes", identity)
        let writer = try EventLogWriter(options)
        for number in 1...events { try writer.append([event(number)]) }
        try writer.close()
    }

    private func writeMatches(in scratch: Scratch, cursors: [UInt64], upstream: LogIdentity) throws {
        let writer = try scratch.writer()
        for (index, sequence) in cursors.enumerated() {
            try writer.append([event(index)], cursor: Cursor(["changes": sequence]))
        }
        try writer.close()
        try write(Array(UpstreamNote(log: "changes", identity: upstream).text.utf8), to: scratch.log + "/upstream.json")
    }

    private func problems(_ scratch: Scratch) throws -> [VerifyReport.Problem] {
        try EventLogs.verify(directory: scratch.log).problems
    }

    @Test func `a cursor within the upstream log is sound`() throws {
        let scratch = Scratch()
        try writeChanges(in: scratch, events: 5)
        try writeMatches(in: scratch, cursors: [1, 1, 3, 5], upstream: identity)
        #expect(try problems(scratch) == [])
        #expect(try EventLogs.cursor(directory: scratch.log) == Cursor(["changes": 5]))
        #expect(try EventLogs.consumers(ofLogAt: scratch.path + "/changes").map(\.lastProcessed) == [5])
    }

    @Test func `a cursor beyond the upstream log is reported`() throws {
        let scratch = Scratch()
        try writeChanges(in: scratch, events: 4)
        try writeMatches(in: scratch, cursors: [1, 5], upstream: identity)
        let problem = try #require(try problems(scratch).first)
        let file = try scratch.segments[0]
        #expect(problem.sequence == 2 && problem.file == file)
        #expect(problem.reason == "the cursor is at sequence 5 of 'changes', which ends with 4")
    }

    @Test func `a cursor that goes back is reported`() throws {
        let scratch = Scratch()
        try writeChanges(in: scratch, events: 5)
        try writeMatches(in: scratch, cursors: [1, 4, 3, 5], upstream: identity)
        let problem = try #require(try problems(scratch).first)
        #expect(problem.sequence == 3)
        #expect(problem.reason == "the cursor goes back from sequence 4 of 'changes' to 3")
    }

    @Test func `an upstream log with another identity is reported, and so is a changed upstream.json`() throws {
        let scratch = Scratch()
        try writeChanges(in: scratch, events: 5)
        try writeMatches(in: scratch, cursors: [1], upstream: LogIdentity(seed: "other", name: "changes"))
        #expect(try problems(scratch).map(\.file) == [scratch.log + "/upstream.json"])
        try write(Array("{}".utf8), to: scratch.log + "/upstream.json")
        #expect(try problems(scratch).map(\.reason) == ["the file was changed after Belfry wrote it"])
    }

    @Test func `only the log itself is checked if the upstream log is missing`() throws {
        let scratch = Scratch()
        try writeMatches(in: scratch, cursors: [1, 7], upstream: identity)
        #expect(try problems(scratch) == [])
    }

    @Test func `a manifest with another name than the folder is reported`() throws {
        let scratch = Scratch()
        try writeMatches(in: scratch, cursors: [1], upstream: identity)
        let path = scratch.log + "/log.json"
        let name = scratch.log.split(separator: "/").last ?? ""
        let text = String(decoding: try bytes(of: path), as: UTF8.self)
        try write(Array(text.replacing("\"\(name)\"", with: "\"other\"").utf8), to: path)
        #expect(try problems(scratch).map(\.file) == [path])
        #expect(try problems(scratch).first?.reason == "log.json names log 'other', but its folder is '\(name)'")
    }

    private struct Check: LogCheck {
        var checksCache = false
        let body: @Sendable (VerifiedLog) -> [VerifyReport.Problem]
        func check(_ log: VerifiedLog) -> [VerifyReport.Problem] { body(log) }
    }

    @Test func `the caller's checks run for a sound log, and problems of a cache are reported only as notes`() throws {
        let scratch = Scratch()
        try writeMatches(in: scratch, cursors: [1, 7], upstream: identity)
        let problem = VerifyReport.Problem(file: "index", offset: 3, sequence: 1, reason: "stale")
        let check = Check { log in
            #expect(log.lastSequence == 2 && log.name == "matches" && log.cursor == Cursor(["changes": 7]))
            return [problem]
        }
        let report = try EventLogs.verify(directory: scratch.log, checks: [check])
        #expect(report.problems == [problem] && !report.isSound)
        let cache = Check(checksCache: true) { _ in [problem] }
        let noted = try EventLogs.verify(directory: scratch.log, checks: [cache])
        #expect(noted.notes == [problem] && noted.isSound)
    }
}
