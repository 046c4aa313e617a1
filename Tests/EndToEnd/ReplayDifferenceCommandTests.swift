import Foundation
import TestSupport
import Testing

/// Replays of logs that differ from the output of their stages, and the options `--only`, `--speed` and
/// `--to console`.
@Suite(.timeLimit(.minutes(5)))
struct ReplayDifferenceCommandTests {
    /// Logs of five pushes.
    private static func recorded() async throws -> (Notes, RewrittenLogs) {
        let notes = try Notes()
        try await notes.record()
        return (notes, try RewrittenLogs(of: notes.logs))
    }

    private static func replay(_ notes: Notes, _ logs: RewrittenLogs, _ more: String..., onTerminal: Bool = false)
        async throws -> Program.Result
    {
        try await Program.run(
            "belfry", ["replay", notes.pipeline, "--logs", logs.path] + more, onTerminal: onTerminal)
    }

    @Test func `an edited event is reported with log, sequence, member and both values`() async throws {
        let (notes, logs) = try await Self.recorded()
        try logs.rewrite("pushes") { [$0 == 4 ? $1.replacing("A note", with: "A nose") : $1] }
        let text = try await Self.replay(notes, logs, onTerminal: true)
        #expect(text.status == 1, "\(text)")
        let expected =
            "different: log pushes, sequence 4, /payload/aps/alert\n  recorded: \"A nose\"\n  replayed: \"A note\"\n"
        #expect(text.output.hasPrefix(expected + "  input:    log notifications, sequence 4: {"), "\(text.output)")
        #expect(text.errors.contains("payload: differs, first at pushes 4\n"), "\(text.errors)")
        let piped = try await Self.replay(notes, logs)
        #expect(piped.status == 1 && piped.isNDJSON, "\(piped)")
        let difference = #"""
            {"result":"different","compared":20,"difference":{"stage":"payload","log":"pushes","sequence":4,\#
            "pointer":"/payload/aps/alert","recorded":"A nose","replayed":"A note",\#
            "input":{"log":"notifications","sequence":4}},"stages":[
            """#
        #expect(piped.output.hasPrefix(difference), "\(piped.output)")
    }

    @Test func `an event that only the log has is reported`() async throws {
        let (notes, logs) = try await Self.recorded()
        try logs.rewrite("outcomes") { $0 == 5 ? [$1, #"{"type":"invented"}"#] : [$1] }
        let text = try await Self.replay(notes, logs, onTerminal: true)
        let expected =
            "different: log outcomes, sequence 6\n  recorded: {\"type\":\"invented\"}\n  replayed: no such event\n"
        #expect(text.status == 1 && text.output.hasPrefix(expected), "\(text)")
        let piped = try await Self.replay(notes, logs)
        #expect(piped.output.contains(#""pointer":null,"recorded":{"type":"invented"},"replayed":null"#), "\(piped)")
    }

    @Test func `damage is reported with file, offset and sequence`() async throws {
        let (notes, logs) = try await Self.recorded()
        let segment = logs.path + "/pushes/00000000000000000001.log"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: segment))
        let place = try #require(bytes.firstRange(of: Data(#""rid":"n3""#.utf8)))
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: URL(fileURLWithPath: segment))
        for more in [[], ["--json"]] {
            let damaged = try await Command.run(["replay", notes.pipeline, "--logs", logs.path] + more)
            #expect(damaged.status == 65 && damaged.output.isEmpty, "\(damaged)")
            let damage = try #require(
                damaged.errors.firstMatch(of: /(\S+) is damaged at byte (\d+), from sequence (\d+) on/))
            #expect(damage.1 == segment && damage.3 == "4", "\(damaged.errors)")
            let offset = try #require(Int(damage.2))
            #expect(offset > 0 && offset < place.lowerBound, "the batch begins before its event")
        }
    }

    @Test(arguments: [
        ("record=n3", 1), ("record=n2", 0), ("user=_alice", 1), ("user=_bob", 66), ("subscription=feed", 1),
        ("subscription=more", 66), ("stage=match", 1), ("stage=payload", 0), ("stage=pager", 64), ("colour=red", 64),
    ])
    func `with --only, only the chosen events are compared`(_ only: String, _ status: Int32) async throws {
        let (notes, logs) = try await Self.recorded()
        try logs.rewrite("matches") { [$1.contains(#""n3""#) ? $1.replacing("create", with: "update") : $1] }
        let replayed = try await Self.replay(notes, logs, "--only", only)
        #expect(replayed.status == status, "\(replayed)")
        #expect(replayed.output.hasPrefix(#"{"result":"different","#) == (status == 1), "\(replayed.output)")
    }

    /// Unlike the logs of `Self.recorded()`, these logs have only one push: it is for all five notes and names the
    /// fifth. An outcome names neither note nor subscription.
    @Test(arguments: ["pushes", "outcomes"], ["record=n2", "record=n5", "subscription=feed", "record=n9"])
    func `with --only, the effects of the chosen events are compared too`(_ log: String, _ only: String) async throws {
        let notes = try await Notes.recorded()
        let logs = try RewrittenLogs(of: notes.logs)
        let same = try await Self.replay(notes, logs, "--only", only)
        #expect(same.status == (only == "record=n9" ? 66 : 0), "\(same)")
        try logs.rewrite(log) { [$1.replacing("A note", with: "B note").replacing("apns-id", with: "apns-di")] }
        let replayed = try await Self.replay(notes, logs, "--only", only)
        #expect(replayed.status == (only == "record=n9" ? 66 : 1), "\(replayed)")
        #expect(only == "record=n9" || replayed.output.contains(#""log":"\#(log)""#), "\(replayed)")
    }

    @Test func `--speed sets the pace of a replay, and without it replay does not wait`() async throws {
        let notes = try Notes()
        try await notes.record(seconds: 10)
        func seconds(_ more: String...) async throws -> Double {
            let start = ContinuousClock.now
            let replayed = try await Command.run(
                ["replay", notes.pipeline, "--logs", notes.logs, "--to", "file:" + notes.folder + "/replayed"] + more)
            #expect(replayed.status == 0, "\(replayed)")
            #expect(Notes.names(try notes.read("replayed")) == ["n1", "n2", "n3", "n4", "n5"])
            return (ContinuousClock.now - start) / .seconds(1)
        }
        #expect(try await seconds("--speed", "40") >= 1, "forty seconds were recorded")
        #expect(try await seconds("--speed", "1000000") < 40)
        #expect(try await seconds() < 40)
        for wrong in [["--speed", "0", "--to", "console"], ["--speed", "-1", "--to", "console"]] {
            #expect(try await Command.run(["replay", notes.pipeline] + wrong).status == 64)
        }
    }

    @Test func `with --to console, standard output has only pushes`() async throws {
        let (notes, logs) = try await Self.recorded()
        let pushes = try await Self.replay(notes, logs, "--to", "console")
        #expect(pushes.status == 0 && pushes.isNDJSON, "\(pushes)")
        #expect(Notes.names(pushes.output) == ["n1", "n2", "n3", "n4", "n5"])
        #expect(pushes.errors.hasSuffix("\nidentical\n"), "\(pushes.errors)")
    }
}
