import EventLog
import Foundation
import Testing
import Time

@Suite(.timeLimit(.minutes(5)))
struct DoctorCommandTests {
    private static func doctor(_ arguments: [String], onTerminal: Bool = false) async throws -> Program.Result {
        try await Program.run("belfry", ["doctor"] + arguments, onTerminal: onTerminal)
    }

    private static func codes(_ result: Program.Result) -> [String] {
        result.output.matches(of: /"code":"([^"]*)"/).map { String($0.1) }
    }

    @Test func `doctor finds no problem in a good pipeline, with or without its file`() async throws {
        let notes = try await Notes.recorded()
        let result = try await Self.doctor([notes.pipeline, "--logs", notes.logs])
        #expect(result.status == 0 && result.errors == "" && result.isNDJSON, "\(result)")
        #expect(Self.codes(result) == ["file.valid", "data.writable", "log.whole", "subscription.indexed"])
        let snapshots = notes.logs + "/matches/snapshots"
        try FileManager.default.createDirectory(atPath: snapshots, withIntermediateDirectories: true)
        try notes.write("junk", to: "logs/matches/snapshots/1-1.snapshot")
        let folder = try await Self.doctor([notes.logs], onTerminal: true)
        #expect(folder.errors == "" && folder.output.contains("skipped a snapshot"), "\(folder)")
        #expect(folder.status == 0 && folder.output.hasSuffix("all is well; 1 note\n"), "\(folder)")
        let fresh = try await Self.doctor([notes.pipeline])
        #expect(fresh.status == 0, "\(fresh)")
        #expect(Self.codes(fresh) == ["file.valid", "data.writable", "log.none", "health.not_running"])
        #expect(try await Self.doctor([notes.folder + "/none.yaml"]).status == 66)
        #expect(try await Self.doctor([]).status == 64)
    }

    @Test func `a missing log of the last stage is an error, because the pipeline file names the stage`() async throws {
        let notes = try await Notes.recorded()
        try FileManager.default.removeItem(atPath: notes.logs + "/outcomes")
        let result = try await Self.doctor([notes.pipeline, "--only", "logs", "--logs", notes.logs])
        #expect(result.status == 1 && Self.codes(result) == ["log.missing"], "\(result)")
        #expect(result.output.contains("outcomes is missing, although stage deliver of \(notes.pipeline) writes it"))
    }

    @Test
    func `a subscription that cannot use an index gives a note, and many for one record type give a warning`()
        async throws
    {
        let notes = try Notes()
        func saves(_ range: Range<Int>) -> String {
            range.map { number in
                """
                {"type":"subscription.save","container":"iCloud.c","environment":"production","database":"public",\
                "user":"_u\(number)","subscription":{"subscriptionID":"open","subscriptionType":"query",\
                "query":{"recordType":"Task","predicate":"state != 'done'"},"firesOn":["create"],\
                "notificationInfo":{"alertBody":"A task"}}}

                """
            }.joined()
        }
        let few = try await Program.run("belfry", ["run", notes.pipeline, "--logs", notes.logs], input: saves(0..<3))
        #expect(few.status == 0, "\(few)")
        let arguments = [notes.pipeline, "--only", "subscriptions", "--logs"]
        let noted = try await Self.doctor(arguments + [notes.logs])
        #expect(noted.status == 0 && Self.codes(noted) == ["subscription.unindexed"], "\(noted)")
        let group =
            #""container":"iCloud.c","environment":"production","database":"public","recordType":"Task","count":3,"lookedAt":3,"#
        #expect(noted.output.contains(group), "\(noted)")
        #expect(
            noted.output.contains(#""subscriptions":[{"user":"_u0","subscriptionID":"open","savedAt":1,"#), "\(noted)")

        let many = notes.folder + "/many"
        _ = try await Program.run("belfry", ["run", notes.pipeline, "--logs", many], input: saves(0..<101))
        let warned = try await Self.doctor(arguments + [many], onTerminal: true)
        #expect(warned.status == 1 && warned.output.hasSuffix("1 warning\n"), "\(warned)")
        #expect(
            warned.output.contains(
                #""open" of _u0, "open" of _u1, "open" of _u2 and 98 others are evaluated for every change of Task"#))
        #expect(warned.output.contains("it only excludes values of state"))
        #expect(warned.output.contains("or state IN {…} with the values that are allowed"))
    }

    @Test func `a subscription that can never match is reported`() async throws {
        let notes = try Notes()
        let phone = Notes.phone().replacing(
            #""query":{"recordType":"Note"}"#, with: #""query":{"recordType":"Note","predicate":"n == 1 AND n == 2"}"#)
        try await notes.record(phone)
        let result = try await Self.doctor([notes.pipeline, "--only", "subscriptions", "--logs", notes.logs])
        #expect(result.status == 0 && Self.codes(result) == ["subscription.never"], "\(result)")
        #expect(
            result.output.contains(#"feed\" of _alice never matches: the predicate can never be true: "#), "\(result)")
        #expect(result.output.contains(#""predicate":"n == 1 AND n == 2""#), "\(result)")
    }

    @Test func `with an invalid pipeline file, data and logs are checked, but subscriptions and apps are not`()
        async throws
    {
        let notes = try await Notes.recorded()
        try notes.write(notes.read("notes.yaml").replacing("window: 2s", with: "window: fast"), to: "notes.yaml")
        let result = try await Self.doctor([notes.pipeline, "--logs", notes.logs])
        #expect(result.status == 1, "\(result)")
        #expect(
            Self.codes(result)
                == ["file.invalid", "data.writable", "log.whole", "subscriptions.unchecked", "apps.unchecked"])
    }

    @Test func `stages that answer, stages that do not, and a stage of another pipeline are reported`() async throws {
        let notes = try Notes()
        let ingest = try Program("belfry-ingest", ["--pipeline", notes.pipeline])
        await ingest.waitForMessage("running")
        let some = try await Self.doctor([notes.pipeline, "--only", "health"])
        #expect(some.status == 1 && Self.codes(some) == Array(repeating: "health.silent", count: 4), "\(some)")
        ingest.signal(SIGTERM)
        #expect(await ingest.result().status == 0)
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("deliver: ready")
        let all = try await Self.doctor([notes.pipeline, "--only", "health"])
        #expect(all.status == 0 && Self.codes(all) == ["health.running"], "\(all)")
        let address = "ipc://\(notes.folder)/data/match.link"
        let copy = try notes.write(
            notes.read("notes.yaml").replacing("data: data", with: "data: other")
                .replacing("match: {", with: "match: { bind: \"\(address)\","), to: "copy.yaml")
        let other = try await Self.doctor([copy, "--only", "health"])
        let codes = Array(repeating: "health.silent", count: 4) + ["health.other"]
        #expect(other.status == 1 && Self.codes(other).sorted() == codes.sorted(), "\(other)")
        #expect(other.output.contains("the program at \(address) is not match of this pipeline"), "\(other)")
        up.signal(SIGTERM)
        _ = await up.result()
    }

    /// The clock was ahead when the log was written, or was set back afterwards.
    @Test func `a log ahead of the machine's clock is reported by doctor and by ingest`() async throws {
        let notes = try Notes()
        let ahead = Instant(microseconds: Instant.wall().microseconds + 3 * 3_600_000_000)
        let log = try EventLogWriter(EventLogOptions(directory: notes.folder + "/data/logs", name: "changes"))
        let line = Array("{\"type\":\"other\"}\n".utf8)
        _ = try line.withUnsafeBytes { try log.append($0, count: 1, now: ahead) }
        try log.close()
        let atRest = try await Self.doctor([notes.pipeline, "--only", "logs"])
        #expect(atRest.status == 1 && Self.codes(atRest).contains("log.ahead"), "\(atRest)")
        let up = try Program("belfry", ["up", notes.pipeline])
        await up.waitForMessage("ingest: the machine's clock is 2 h behind the log's time")
        await up.waitForMessage("deliver: ready")
        let running = try await Self.doctor([notes.pipeline, "--only", "health"])
        #expect(running.status == 1 && Self.codes(running).contains("health.clock"), "\(running)")
        #expect(running.output.contains("\"clockBehindSeconds\":10"), "\(running)")
        up.signal(SIGTERM)
        #expect(await up.result().status == 0)
    }
}
