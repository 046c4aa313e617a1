import EventLog
import Foundation
import Glibc
import TestSupport
import Testing
import ZeroMQ

/// Runs plugins that die, send nonsense or ignore signals. The host continues to run. Every event is passed
/// on or becomes a dead letter. No plugin outlives its host.
@Suite(.serialized, .enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
struct BadPlugins {
    private let folder: Folder
    private var pipeline: String { folder.file("pipeline.yaml") }

    init() throws {
        folder = try Folder()
        try folder.write(BadPlugin.program, to: "plugin.py")
        try folder.write(Self.commands, to: "commands.ndjson")
    }

    /// A device, a subscription and twelve changes. The changes have different times, so that each change is in a
    /// batch of its own.
    private static var commands: String {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let start = [
            #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"t"}"#,
            #"{"type":"subscription.save",\#(place),"database":"private","user":"_a","subscription":{"subscriptionID":"s","#
                + #""subscriptionType":"zone","zoneID":{"zoneName":"Notes"},"notificationInfo":{"alertBody":"A note"}}}"#,
        ]
        let changes = (10..<22).map {
            #"{"type":"record.save","time":"2026-01-01T09:00:\#($0)Z",\#(place),"database":"private","owner":"_a","#
                + #""record":{"recordName":"n\#($0)","recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_a"}}}"#
        }
        return (start + changes).joined(separator: "\n") + "\n"
    }

    private func writePipeline(_ mode: String) throws {
        try folder.write(
            """
            pipeline: plugins
            data: data
            stages:
              ingest: {}
              match: {from: ingest}
              filter: {from: match, command: [\(Python.program), \(folder.file("plugin.py")), \(mode), \(folder.file(mode))]}
              coalesce: {from: filter, window: 0s}
              payload: {from: coalesce}
              deliver: {from: payload, transports: {apns: {use: console}}}
            """, to: "pipeline.yaml")
    }

    /// - Parameter exitStatus: The expected exit status, which is 65 if there are dead letters.
    /// - Returns: The pushes.
    private func run(_ mode: String, exitStatus: Int32 = 0) async throws -> [String] {
        try writePipeline(mode)
        let (status, said) = try await SocketThread.run(name: "faults") {
            let run = try SpawnedProgram(
                "belfry", ["run", pipeline, folder.file("commands.ndjson"), "--logs", folder.file(mode + ".logs")],
                output: folder.file("pushes.ndjson"))
            return (try run.waitUntilExit(), run.lines)
        }
        #expect(status == exitStatus, "\(said.prefix(3))")
        let refusals = said.filter { $0.hasPrefix("filter: the plugin's program was refused: ") }
        #expect(refusals.count == ["garbage": 4, "wrong": 1][mode, default: 0], "\(refusals)")
        return try folder.lines(of: "pushes.ndjson")
    }

    private func deadLetters(_ mode: String) throws -> [String] {
        let reader = try EventLogReader(directory: folder.file(mode + ".logs/filter.dead-letters"), from: .beginning)
        var letters: [String] = []
        while let batch = try reader.next() {
            letters += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return letters
    }

    @Test func `a plugin that dies is restarted, and no event is lost or repeated`() async throws {
        let expected = try await run("honest")
        #expect(expected.count == 12)
        let pushes = try await run("dies")
        #expect(pushes == expected)
        #expect(try folder.lines(of: "dies").count == 4)
    }

    @Test func `an event on which a plugin dies three times is set aside, and a replay skips it`() async throws {
        let expected = try await run("honest")
        let pushes = try await run("poison", exitStatus: 65)
        // The IDs of pushes follow from their positions in the log, so they differ after the event that was set aside.
        let causes = expected.compactMap { $0.split(separator: #""causes":"#).last }
        #expect(
            pushes.compactMap { $0.split(separator: #""causes":"#).last } == causes.filter { !$0.contains(#":8}"#) })
        // Three deaths count. When the plugin first dies, it may have several events. Then the host does not know which
        // event is the cause, and does not count this death.
        #expect((3...4).contains(try folder.lines(of: "poison").count))
        let letters = try deadLetters("poison")
        #expect(letters.count == 1 && letters[0].contains(#""code":"stage.crashed""#), "\(letters)")
        #expect(letters.first?.contains("exited with status 3") == true, "\(letters)")
        let said = try await SocketThread.run(name: "faults") {
            let replay = try SpawnedProgram("belfry", ["replay", pipeline, "--logs", folder.file("poison.logs")])
            return (try replay.waitUntilExit(), replay.lines)
        }
        #expect(said.0 == 0, "\(said.1)")
    }

    @Test func `if a plugin dies after its output was refused, the dead letter says what was refused`() async throws {
        _ = try await run("wrong", exitStatus: 65)
        let letters = try deadLetters("wrong")
        #expect(letters.count == 1 && letters[0].contains(#""code":"stage.crashed""#), "\(letters)")
        let refusal =
            #"exited with status 3); earlier, the host refused what the program sent: outputs need \"through\": "#
        #expect(letters.first?.contains(refusal) == true, "\(letters)")
    }

    @Test func `a plugin that reports a temporary failure loses no event`() async throws {
        let expected = try await run("honest")
        let pushes = try await run("troubled")
        #expect(pushes == expected)
        #expect(try folder.lines(of: "troubled").count == 3)
    }

    @Test func `nonsense from a plugin gets errors and dead letters, and the host continues`() async throws {
        let expected = try await run("honest")
        let pushes = try await run("garbage", exitStatus: 65)
        #expect(pushes == expected)
        let codes = try folder.lines(of: "garbage")
        #expect(Set(codes) == ["link.frame", "link.type", "link.outputs", "link.frames"], "\(Set(codes))")
        let letters = try deadLetters("garbage")
        let faults = [
            "'o' where null is needed", "a line must be one JSON object", "control character 0x00",
            "over the limit of ",
        ]
        for fault in faults {
            let found = letters.filter { $0.contains(" of matches with an invalid event: ") && $0.contains(fault) }
            #expect(found.count == letters.count / 4 && !found.isEmpty, "\(fault): \(found.count) of \(letters.count)")
        }
        let start = #"{"type":"dead_letter","stage":"filter","log":"matches","sequence":"#
        let reason = #","code":"stage.invalid_output","path":"","reason":"its program answered event"#
        #expect(letters.allSatisfy { $0.hasPrefix(start) && $0.contains(reason) })
    }

    @Test func `belfry run reports an invalid event of a plugin as a mistake of the plugin's program`() async throws {
        try writePipeline("spoils")
        let input = folder.file("commands.ndjson")
        let (status, said) = try await SocketThread.run(name: "faults") {
            let run = try SpawnedProgram("belfry", ["run", pipeline, input], output: folder.file("pushes.ndjson"))
            return (try run.waitUntilExit(), run.lines)
        }
        #expect(status == 65)
        let reports = said.filter { $0.contains("invalid event") }
        #expect(reports.count == 1 && !said.contains { $0.contains("filter set aside") }, "\(said)")
        let report = try #require(reports.first)
        #expect(report.hasPrefix("input up to \(input):8: filter: its program answered event"), "\(report)")
        #expect(report.contains(" of matches with an invalid event: more text after the end of the value"), "\(report)")
    }

    /// A plugin that still ran would keep the pipe of standard error open, and the wait for the exit would fail.
    @Test(arguments: ["polite", "deaf"])
    func `a plugin gets SIGTERM when its host stops, and is killed if it ignores the signal`(
        _ mode: String
    ) async throws {
        try writePipeline(mode)
        let status = try await SocketThread.run(name: "faults") {
            let up = try SpawnedProgram("belfry", ["up", pipeline])
            try up.wait("every stage is ready") { up.lines.contains("ready") }
            up.signal(SIGTERM)
            return try up.waitUntilExit(within: .seconds(30))
        }
        #expect(status == 0)
        if mode == "polite" { #expect(try folder.lines(of: mode) == ["SIGTERM"]) }
    }

    /// A process that has ended, but that nobody has waited for, has no command line.
    private static func isRunning(_ process: Int32) -> Bool {
        FileManager.default.contents(atPath: "/proc/\(process)/cmdline")?.isEmpty == false
    }

    private static func children(of process: Int32) throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").flatMap { thread in
            try String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)
                .split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// Ctrl-C in a terminal sends SIGINT to every process of the pipeline.
    @Test func `a plugin that ignores signals does not outlive its killed host`() async throws {
        try writePipeline("deaf")
        let status = try await SocketThread.run(name: "faults") {
            let up = try SpawnedProgram("belfry", ["up", pipeline])
            try up.wait("every stage is ready") { up.lines.contains("ready") }
            let ready = up.lines.first { $0.hasPrefix("filter: ready, process ") }?.split { " ,".contains($0) }
            guard let host = ready?.dropFirst(3).first.flatMap({ Int32($0) }) else { throw FaultError("\(up.lines)") }
            let children = try Self.children(of: host)
            guard children.count == 2 else { throw FaultError("found \(children), not a program and its watcher") }
            for child in children { kill(child, SIGINT) }
            kill(host, SIGKILL)
            try up.wait("another host") { up.lines.contains { $0.hasPrefix("filter: started again") } }
            try up.wait("the end of the program and its watch process") { children.allSatisfy { !Self.isRunning($0) } }
            up.signal(SIGTERM)
            return try up.waitUntilExit(within: .seconds(30))
        }
        #expect(status == 0)
    }
}
