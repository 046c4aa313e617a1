import Foundation
import Testing

/// A pipeline with lanes, used through the commands.
@Suite(.timeLimit(.minutes(5)))
struct LanesCommandTests {
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#
    private static let users = 12

    private static var commands: String {
        let users = (0..<users).map { user in
            """
            {"type":"device.register",\(place),"user":"_u\(user)","device":"phone","transport":"apns","token":"0\(user)",\
            "topic":"com.example.Notes"}
            {"type":"subscription.save",\(place),"database":"\(user % 2 == 0 ? "public" : "private")","user":"_u\(user)",\
            "subscription":{"subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},\
            "firesOn":["create"],"notificationInfo":{"alertBody":"A note"}}}

            """
        }
        return users.joined() + change("public", "p1", owner: nil) + change("private", "n1", owner: "_u1")
            + change("public", "p2", owner: nil) + change("private", "n3", owner: "_u3")
    }

    private static func change(_ database: String, _ name: String, owner: String?) -> String {
        #"{"type":"record.save",\#(place),"database":"\#(database)""# + (owner.map { #","owner":"\#($0)""# } ?? "")
            + #","record":{"recordName":"\#(name)","recordType":"Note","fields":{}}}"# + "\n"
    }

    /// User, device and alert of each push, sorted.
    private func pushes(_ lines: String) throws -> [String] {
        try lines.split(separator: "\n").map { line in
            let push = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let query = (push["payload"] as? [String: Any])?["ck"].map { "\($0)" } ?? ""
            let record = try #require(query.firstMatch(of: /"rid": "([a-z0-9]+)"/)?.1, "\(query)")
            return "\(push["user"] ?? "") \(push["device"] ?? "") \(record)"
        }.sorted()
    }

    /// What the lanes have written when they have written a number of pushes.
    private func written(_ count: Int, by lanes: Int, _ notes: Notes) async throws -> [String] {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            let files = try (0..<lanes).map { try notes.read("pushes.0\($0).ndjson") }
            if files.joined().split(separator: "\n").count >= count || .now > end { return files }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func `lanes push what one row of stages pushes, and every command takes all lanes together`() async throws {
        let notes = try Notes()
        let yaml = try notes.read("notes.yaml").replacing("stages:", with: "lanes: 3\nstages:")
        try notes.write(yaml, to: "notes.yaml")
        let valid = try await Command.run(["validate", notes.pipeline])
        #expect(valid.output.contains("pipeline notes, 3 lanes, stages ingest, match from ingest,"), "\(valid)")
        let up = try Program("belfry", ["up", notes.pipeline])
        for lane in 0..<3 { #expect(await up.waitForMessage("deliver.0\(lane): ready") != nil) }
        let sent = try await Program.run("belfry", ["send", notes.pipeline, "--wait"], input: Self.commands)
        #expect(sent.status == 0, "\(sent)")
        let lanes = try await written(14, by: 3, notes)
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
        let expected = try await pushes(Program.run("belfry", ["run", notes.pipeline], input: Self.commands).output)
        #expect(try pushes(lanes.joined()) == expected && expected.count == 14)
        #expect(lanes.allSatisfy { !$0.isEmpty })

        for place in [notes.pipeline, notes.folder + "/data"] {
            let replay = try await Command.run(["replay", place])
            #expect(
                replay.status == 0
                    && replay.output.contains(#""stage":"deliver.02","log":"outcomes.02","result":"identical""#),
                "\(replay)")
            for user in 0..<Self.users {
                let explain = try await Command.run(["explain", "--change", "25", "--user", "_u\(user)", "-p", place])
                #expect(explain.status == (user % 2 == 0 ? 0 : 1), "\(explain)")
            }
            let devices = try await Command.run(["state", place, "devices"])
            #expect(devices.output.split(separator: "\n").count == Self.users, "\(devices)")
        }
        let whatIf = try await Command.run(["whatif", notes.pipeline, "--set", "coalesce.window=1s"])
        #expect(whatIf.status == 0, "\(whatIf)")
        let trace = try await Command.run(["trace", "25", "-p", notes.pipeline])
        #expect(trace.output.components(separatedBy: #""type":"outcome""#).count >= 7, "\(trace)")
        let letters = try await Command.run(["dead-letters", notes.pipeline, "--stage", "match"])
        #expect(letters.status == 0, "\(letters)")
        let export = try await Command.run(
            ["trace", "26", "-p", notes.pipeline, "--export", notes.folder + "/case.ndjson"])
        #expect(export.status == 0, "\(export)")
        let run = try await Program.run("belfry", ["run", notes.pipeline, notes.folder + "/case.ndjson"])
        #expect(run.output.split(separator: "\n").count == 1, "\(run)")
        let tap = try await Command.run(["tap", "match", "-p", notes.pipeline])
        #expect(tap.status == 64 && tap.errors.contains("from match.00 to match.02"), "\(tap)")

        try notes.write(yaml.replacing("lanes: 3", with: "lanes: 2"), to: "notes.yaml")
        let fewer = try await Program.run("belfry", ["up", notes.pipeline])
        #expect(fewer.status == 78 && fewer.errors.contains("write 'lanes: 3'"), "\(fewer)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: notes.folder + "/data/logs").count == 13)
    }
}
