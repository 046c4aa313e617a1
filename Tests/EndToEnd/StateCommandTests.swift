import Foundation
import Testing

/// `belfry state` prints the state of a stage at a sequence or time. The tests of recorded settings also run
/// `belfry replay` and `belfry whatif`.
@Suite(.timeLimit(.minutes(5)))
struct StateCommandTests {
    private static func state(
        _ notes: Notes, _ name: String, at: String? = nil, user: String? = nil
    ) async throws -> Program.Result {
        let more = (at.map { ["--at", $0] } ?? []) + (user.map { ["--user", $0] } ?? [])
        let result = try await Command.run(["state", notes.pipeline, name, "--logs", notes.logs] + more)
        #expect(result.status == 0, "\(result)")
        #expect(result.output.isEmpty || result.isNDJSON, "\(result)")
        return result
    }

    /// The moment of a change in three forms: its sequence, its time, and the duration between it and the last change.
    private static func moments(ofChange sequence: Int) -> [String] {
        let second = sequence - 2
        return ["\(sequence)", "2026-11-20T09:30:0\(second)Z", "-\(5 - second)s"]
    }

    @Test func `a state is shown for a sequence, a time or a duration`() async throws {
        let notes = try await Notes.recorded()
        for number in 3...6 {
            let sequences = (3...number).map { #"{"log":"changes","sequence":\#($0)}"# }.joined(separator: ",")
            for moment in Self.moments(ofChange: number) {
                let pending = try await Self.state(notes, "pending", at: moment)
                #expect(pending.output.contains(#""causes":[\#(sequences)]"#), "\(moment): \(pending.output)")
                #expect(try await Self.state(notes, "badges", at: moment).output.isEmpty)
                #expect(try await Self.state(notes, "subscriptions", at: moment).output.contains(#""savedAt":2,"#))
                #expect(try await Self.state(notes, "devices", at: moment).output.contains(#""alice-phone""#))
                #expect(try await Self.state(notes, "records", at: moment).output.contains(#""n\#(number - 2)""#))
            }
        }
        #expect(try await Self.state(notes, "subscriptions", at: "1").output.isEmpty)
        #expect(try await Self.state(notes, "badges").output.contains(#""user":"_alice","badge":1}"#))
        #expect(try await Self.state(notes, "pending").output.isEmpty)
    }

    @Test func `each state for one user has only this user's records, subscriptions, devices or badges`() async throws {
        let notes = try await Notes.recorded()
        for name in ["records", "subscriptions", "devices", "badges"] {
            let all = try await Self.state(notes, name)
            #expect(try await Self.state(notes, name, user: "_alice").output == all.output && !all.output.isEmpty)
            #expect(try await Self.state(notes, name, user: "_bob").output.isEmpty)
        }
    }

    @Test func `the state after the last event does not include what happens at later deadlines`() async throws {
        let notes = try await Notes.recorded()
        #expect(try await Self.state(notes, "pending", at: "7").output.contains(#""sequence":7}]"#))
        #expect(try await Self.state(notes, "badges", at: "7").output.isEmpty)
    }

    @Test func `a position after the last change means the end of all logs, with a note`() async throws {
        let notes = try await Notes.recorded()
        for moment in ["8", "2030-01-01T00:00:00Z"] {
            let late = try await Self.state(notes, "badges", at: moment)
            #expect(late.output.contains(#""badge":1}"#), "\(late)")
            #expect(
                late.errors == "changes ends at 7, before \(moment); this is the state at the end of all logs\n",
                "\(late)")
        }
        #expect(try await Self.state(notes, "badges", at: "7").errors.isEmpty)
    }

    @Test func `a terminal gets a table, and an error about an unknown state lists the states`() async throws {
        let notes = try await Notes.recorded()
        let place = ["--logs", notes.logs]
        let table = try await Program.run("belfry", ["state", notes.pipeline, "badges"] + place, onTerminal: true)
        #expect(table.output.hasPrefix("CONTAINER "), "\(table)")
        #expect(table.output.contains("_alice  1"), "\(table)")
        let unknown = try await Command.run(["state", notes.pipeline, "moods"] + place)
        #expect(unknown.status == 64, "\(unknown)")
        #expect(unknown.errors.contains("available: records, subscriptions, pending, badges, devices"), "\(unknown)")
    }

    // MARK: Recorded settings

    @Test func `logs with recorded settings need no pipeline file, except for replay --stage`() async throws {
        let notes = try await Notes.recorded()
        try FileManager.default.createDirectory(atPath: notes.folder + "/data", withIntermediateDirectories: false)
        try FileManager.default.moveItem(atPath: notes.logs, toPath: notes.folder + "/data/logs")
        for place in [notes.folder + "/data", notes.folder + "/data/logs"] {
            let replayed = try await Command.run(["replay", place])
            #expect(replayed.status == 0 && replayed.output.hasPrefix(#"{"result":"identical","#), "\(replayed)")
            let badges = try await Command.run(["state", place, "badges"])
            #expect(badges.status == 0 && badges.output.contains(#""badge":1}"#), "\(badges)")
            let other = try await Command.run(["whatif", place, "--set", "coalesce.window=0s"])
            #expect(other.status == 1 && other.output.contains(#""added":4,"#), "\(other)")
        }
        let match = "match=" + (try Program.folder()) + "/belfry-match"
        let program = try await Command.run(["replay", notes.folder + "/data", "--stage", match])
        #expect(program.status == 64 && program.errors.contains("needs the pipeline file"), "\(program)")
        let (one, other) = (notes.folder + "/data/logs/notifications", notes.folder + "/data/logs/others")
        try FileManager.default.copyItem(atPath: one, toPath: other)
        let twice = try await Command.run(["replay", notes.folder + "/data"])
        #expect(twice.status == 66 && twice.errors.contains("written by 2 stages of kind coalesce"), "\(twice)")
        try FileManager.default.removeItem(atPath: other)
        let lost = one + "/settings.ndjson"
        try FileManager.default.removeItem(atPath: lost)
        let unknown = try await Command.run(["replay", notes.folder + "/data"])
        #expect(unknown.status == 66 && unknown.errors.hasPrefix(lost + " is missing"), "\(unknown)")
    }

    @Test func `lost settings are reported, with the settings used instead`() async throws {
        let notes = try await Notes.recorded()
        let lost = notes.logs + "/notifications/settings.ndjson"
        try FileManager.default.removeItem(atPath: lost)
        let message =
            "\(lost) is missing: the current settings of \(notes.pipeline) are used for the whole log of coalesce, "
            + "with the defaults of the version that wrote it: pendingPerUser 1000000000\n"
        let place = [notes.pipeline, "--logs", notes.logs]
        let state = ["state", notes.pipeline, "badges", "--logs", notes.logs]
        for command in [["replay"] + place, ["whatif", "--set", "match.x=1"] + place, state] {
            let result = try await Command.run(command)
            #expect(result.errors.hasPrefix(message), "\(result)")
        }
    }
}
