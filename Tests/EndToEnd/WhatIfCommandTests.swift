import Foundation
import Testing

/// What `belfry whatif` prints about the effect of other settings, stages, pipeline files or subscriptions.
@Suite(.timeLimit(.minutes(5)))
struct WhatIfCommandTests {
    private static func whatIf(_ notes: Notes, _ more: String..., onTerminal: Bool = false) async throws
        -> Program.Result
    {
        try await Program.run(
            "belfry", ["whatif", notes.pipeline, "--logs", notes.logs] + more, onTerminal: onTerminal)
    }

    /// Writes a file with a blank line and the recorded subscription, with another alert text.
    ///
    /// - Returns: The path of the file.
    private static func otherSubscription(_ notes: Notes) throws -> String {
        let info = #"{"alertBody":"Another","shouldBadge":true,"collapseIDKey":"notes"}"#
        let lines = Notes.phone().replacing(#"{"alertBody":"A note"}"#, with: info).split(separator: "\n")
        return try notes.write("\n\(lines[1])\n", to: "subscriptions.ndjson")
    }

    @Test func `the effect of another setting is reported as the numbers of pushes that differ`() async throws {
        let notes = try await Notes.recorded()
        let text = try await Self.whatIf(notes, "--set", "coalesce.window=0s", onTerminal: true)
        #expect(text.status == 1, "\(text)")
        let table = """
            + 4 pushes, ~ 1 push changed: 1 badge, 1 coalesced differently

            SUBSCRIPTION  +  −  ~  EXAMPLE CHANGE
            _alice feed   4  0  1               3

            """
        #expect(text.output == table, "\(text.output)")
        let piped = try await Self.whatIf(notes, "--set", "coalesce.window=0s")
        #expect(piped.status == 1 && piped.isNDJSON, "\(piped)")
        let counts = #""added":4,"removed":0,"changed":1,"categories":{"badge":1,"coalesced differently":1}"#
        let lines = """
            {"type":"subscription","user":"_alice","subscriptionID":"feed",\(counts),"change":3}
            {"type":"summary","pushes":1,\(counts)}

            """
        #expect(piped.output == lines, "\(piped.output)")
    }

    @Test func `whatif exits with 0 if no push would be different`() async throws {
        let notes = try await Notes.recorded()
        let text = try await Self.whatIf(notes, "--set", "coalesce.window=2000ms", onTerminal: true)
        #expect(text.status == 0 && text.output == "no difference in 1 push\n", "\(text)")
        let match = "match=" + (try Program.folder()) + "/belfry-match"
        for change in [["--set", "coalesce.window=2000ms"], ["--stage", match], ["--pipeline-b", notes.pipeline]] {
            let same = try await Command.run(["whatif", notes.pipeline, "--logs", notes.logs] + change)
            let summary = #"{"type":"summary","pushes":1,"added":0,"removed":0,"changed":0,"categories":{}}"#
            #expect(same.status == 0 && same.output == summary + "\n", "\(same)")
        }
    }

    @Test func `whatif --with a changed subscription reports the pushes that differ`() async throws {
        let notes = try await Notes.recorded()
        let other = try Self.otherSubscription(notes)
        let text = try await Self.whatIf(notes, "--with", other, onTerminal: true)
        #expect(text.status == 1 && text.output.hasPrefix("~ 1 push changed: 1 alert text\n"), "\(text)")
        let piped = try await Self.whatIf(notes, "--with", other)
        #expect(piped.status == 1 && piped.isNDJSON, "\(piped)")
        #expect(piped.output.contains(#""changed":1,"categories":{"alert text":1},"change":7}"#), "\(piped.output)")
    }

    @Test func `a file for --with that has no effect is reported`() async throws {
        let notes = try await Notes.recorded()
        let empty = try notes.write("\n  \n", to: "empty.ndjson")
        let nothing = try await Self.whatIf(notes, "--with", empty)
        #expect(
            nothing.status == 0 && nothing.errors.contains("--with: there is no command, so nothing changes"),
            "\(nothing)")
        let other = try String(contentsOfFile: Self.otherSubscription(notes), encoding: .utf8)
        let line = String(other.drop(while: \.isNewline))
        let later = try notes.write(
            line.replacing(
                #"{"type":"subscription.save","#, with: ##"{"type":"subscription.save","time":"2099-01-01T00:00:00Z","##
            ),
            to: "later.ndjson")
        let late = try await Self.whatIf(notes, "--with", later)
        #expect(
            late.status == 0 && late.errors.contains("2099-01-01T00:00:00Z or later, but the recording ends"), "\(late)"
        )
        let both = try await Self.whatIf(
            notes, "--with", notes.write(try notes.read("later.ndjson") + line, to: "both.ndjson"))
        #expect(both.status == 1 && both.errors == "", "\(both)")
    }

    @Test func `a line that --with cannot use is reported with file and line`() async throws {
        let notes = try await Notes.recorded()
        let good = try String(contentsOfFile: Self.otherSubscription(notes), encoding: .utf8)
        for (line, reason) in [
            (#"{"type":"subscription.save"}"#, "rejected: "), ("nonsense", "rejected: "),
            (
                String(Notes.change("n1").dropLast()),
                "the command is about neither a subscription nor a device; remove it"
            ),
        ] {
            let file = try notes.write(good + "\n\(line)\n", to: "bad.ndjson")
            let refused = try await Self.whatIf(notes, "--with", file)
            #expect(refused.status == 65 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.hasPrefix("\(file):4: \(reason)"), "\(refused.errors)")
        }
        #expect(try await Self.whatIf(notes, "--with", notes.folder + "/none.ndjson").status == 66)
    }

    @Test(arguments: [
        (
            "coalesce.from=ingest",
            "you can set: coalesce.policy, coalesce.window, "
                + "coalesce.maximumDelay, coalesce.pendingPerUser, coalesce.atLimit"
        ),
        (
            "coalesce.bind=tcp://127.0.0.1:1",
            "you can set: coalesce.policy, coalesce.window, "
                + "coalesce.maximumDelay, coalesce.pendingPerUser, coalesce.atLimit"
        ),
        (
            "coalesce.windw=1s",
            "you can set: coalesce.policy, coalesce.window, "
                + "coalesce.maximumDelay, coalesce.pendingPerUser, coalesce.atLimit"
        ),
        ("coalesce.window=soon", "expected a duration, found soon"), ("deliver.curve=x", "deliver.transports"),
        ("ingest.door=x", "ingest is the source, and its log is the input"),
        ("pager.window=1s", "there is no stage pager"),
        ("window=1s", "--set takes STAGE.KEY=VALUE"),
    ])
    func `an argument that --set cannot use is refused`(_ setting: String, _ reason: String) async throws {
        let notes = try await Notes.recorded()
        let refused = try await Self.whatIf(notes, "--set", setting)
        #expect(refused.status == 64 && refused.output.isEmpty, "\(refused)")
        #expect(refused.errors.contains(reason), "\(refused.errors)")
    }
}
