import Glibc
import TestSupport
import Testing
import ZeroMQ

/// Edits the pipeline file while the processes of its stages run.
@Suite(.serialized) struct Reload {
    private static let reloaded = "deliver: reloaded "

    @Test func `an app is added while pushes flow`() async throws {
        // Some answers take seconds, so pushes are in flight while the file is read again.
        let slow = #"{"when":{"every":120},"do":{"latency":[2500,3500]}}"#
        let apns = try await RunningAPNs(script: #"{"script":[\#(slow),{"do":{"latency":[5,40]}}]}"#)
        let changes = Tier.value(300, full: 1_100)
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(20) + [Notes.device("tablet", "01ff", topic: "com.example.Other")])
            try pipeline.send((21...40).map(Notes.note), from: "before")
            try pipeline.waitFor("app.stopped")
            try pipeline.send((41...changes - 100).map(Notes.note), from: "meanwhile")
            try pipeline.edit(transport: apns.transport(apps: apns.otherApp))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine(Self.reloaded)
            try pipeline.send((changes - 99...changes).map(Notes.note), from: "after")
            try pipeline.waitFor("app.resumed")
            try pipeline.waitFor("outcome", count: 2 * changes - 20)
            let said = pipeline.up.lines.filter { $0.hasPrefix(Self.reloaded) }
            #expect(said.count == 1 && said[0].hasSuffix("apns: 1 app added, \(apns.renewed)"), "\(said)")
            #expect(!pipeline.up.lines.contains { $0.contains("started again") })
            #expect(try pipeline.possibleRepeats().isEmpty)
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let accepted = apns.accepted
        #expect(accepted.count == 2 * changes - 20 && Set(accepted.map(\.id)).count == accepted.count)
        #expect(accepted.allSatisfy { !$0.isRepeat })
        let isOnFirst = accepted.contains { $0.topic == "com.example.Other" && $0.connection == 1 }
        #expect(!isOnFirst, "the new app used the connection of the first app")
    }

    @Test func `a file with a mistake is refused, and the pipeline continues`() async throws {
        let apns = try await RunningAPNs()
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(transport: apns.transport())
            try pipeline.send(Notes.commands(5))
            try pipeline.waitFor("outcome", count: 5)
            try pipeline.edit(transport: apns.transport(more: ", timeuot: 5s"))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("all stages keep their previous settings")
            let mistakes = pipeline.up.lines.filter { $0.contains("did you mean \"timeout\"?") }
            #expect(mistakes.count == 1 && mistakes.allSatisfy { $0.hasPrefix("\(pipeline.file):") }, "\(mistakes)")
            try pipeline.edit(coalesce: "window: 1ms", transport: apns.transport(key: apns.folder.file("lost.p8")))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("all stages keep their previous settings", count: 2)
            #expect(pipeline.up.lines.contains { $0.hasPrefix("deliver: ") && $0.contains("lost.p8") })
            kill(try #require(pipeline.pids["deliver"]), SIGHUP)
            try pipeline.waitForLine("deliver: send SIGHUP to belfry up, process \(pipeline.up.pid), which")
            try pipeline.send((6...9).map(Notes.note))
            try pipeline.waitFor("outcome", count: 9)
            let problems = try pipeline.stop() + pipeline.problemsOfLogs()
            #expect(!pipeline.up.lines.contains { $0.contains(": reloaded ") }, "\(pipeline.up.lines)")
            return problems
        }
        try await apns.stop()
        #expect(problems == [] && apns.accepted.count == 9 && Set(apns.accepted.map(\.connection)).count == 1)
    }

    enum Correction: CaseIterable { case anotherFile, inPlace, inPlaceBetweenRuns }

    @Test(arguments: Tier.some(of: Correction.allCases))
    func `a stopped app resumes without a probe when its key is corrected`(_ correction: Correction) async throws {
        let (apns, other) = (try await RunningAPNs(), try await RunningAPNs())
        try await other.stop()
        let problems = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline.start(withWrongKey: other.key, at: apns)
            if correction == .inPlaceBetweenRuns { #expect(try pipeline.stop() == []) }
            if correction == .anotherFile {
                try pipeline.edit(transport: apns.transport())
            } else {
                try apns.copyKey(to: other)
            }
            if correction == .inPlaceBetweenRuns { try pipeline.startAgain() } else { pipeline.up.signal(SIGHUP) }
            try pipeline.waitFor("app.resumed")
            try pipeline.waitFor("outcome", count: 20)
            let first = try pipeline.outcomes().first { !$0.hasPrefix(#"{"type":"a"#) || $0.contains("app.resumed") }
            #expect(first?.hasPrefix(#"{"type":"app.resumed""#) == true, "before app.resumed: \(first ?? "nothing")")
            return try pipeline.stop() + pipeline.problemsOfLogs()
        }
        try await apns.stop()
        #expect(problems == [])
        let accepted = apns.accepted
        #expect(accepted.count == 20 && Set(accepted.map(\.id)).count == 20 && accepted.allSatisfy { !$0.isRepeat })
    }

    @Test func `transports can be added and removed while the pipeline runs`() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            try pipeline.send(Notes.commands(3))
            try pipeline.waitFor("outcome", count: 3)
            try pipeline.edit(transport: "{use: file, path: other.ndjson}\n      more: {use: file, path: more.ndjson}")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("deliver: reloaded \(pipeline.file): apns reopened; more opened")
            try pipeline.send((4...5).map(Notes.note))
            try pipeline.waitFor("outcome", count: 5)
            try pipeline.edit(transport: "{use: file, path: other.ndjson}")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("deliver: reloaded \(pipeline.file): more closed")
            try pipeline.send([Notes.note(6)])
            try pipeline.waitFor("outcome", count: 6)
            try pipeline.edit(LivePipeline.yaml())
            #expect(try pipeline.stop() + pipeline.problemsOfLogs() == [])
            #expect(try pipeline.pushes().count == 3 && pipeline.folder.lines(of: "other.ndjson").count == 3)
        }
    }

    @Test func `an edit that needs a restart is refused, the error names the key, and stages continue`() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            try pipeline.edit(
                LivePipeline.yaml().replacing("data: data", with: "data: other")
                    .replacing("payload: {from: coalesce}", with: "payload: {from: late}")
                    .replacing("  payload:", with: "  late: {from: coalesce, command: [cat]}\n  payload:"))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("all stages keep their previous settings")
            for key in ["data", "stages.late", "stages.payload.from"] {
                let isNamed = pipeline.up.lines.contains { $0.hasPrefix(pipeline.file) && $0.contains(" \(key): ") }
                #expect(isNamed, "\(key): \(pipeline.up.lines)")
            }
            try pipeline.send(Notes.commands(3))
            try pipeline.waitFor("outcome", count: 3)
            try pipeline.edit(LivePipeline.yaml())
            #expect(try pipeline.stop() + pipeline.problemsOfLogs() == [])
        }
    }

    @Test func `a process that ends is restarted from the last accepted file`() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            try pipeline.send(Notes.commands(3))
            try pipeline.edit(transport: "{use: file, path: other.ndjson}")
            try pipeline.waitFor("outcome", count: 3)
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine(Self.reloaded)
            try pipeline.edit(transport: "{use: file, paht: other.ndjson}")
            try pipeline.kill("deliver")
            try pipeline.waitForRestarts()
            try pipeline.edit(LivePipeline.yaml().replacing("data: data", with: "data: other"))
            try pipeline.kill("match")
            try pipeline.waitForRestarts()
            try pipeline.send((4...6).map(Notes.note))
            try pipeline.waitFor("outcome", count: 6)
            try pipeline.edit(LivePipeline.yaml())
            #expect(try pipeline.stop() + pipeline.problemsOfLogs() == [])
            #expect(try pipeline.pushes().count == 3 && pipeline.folder.lines(of: "other.ndjson").count == 3)
            #expect(access(pipeline.folder.file("other"), F_OK) != 0, "another data folder was created")
        }
    }

    /// The path of the pipeline file contains a symbolic link to a folder. Before the restart, the
    /// link is changed to another folder.
    @Test func `a restarted process stays in the folder of the accepted file`() async throws {
        try await SocketThread.run(name: "faults") {
            let folder = try Folder()
            for name in ["one", "two"] { mkdir(folder.file(name), 0o755) }
            symlink("one", folder.file("now"))
            let inner = try Folder(in: folder.file("now"))
            let pipeline = try LivePipeline(folder: inner)
            let name = inner.path.split(separator: "/").last ?? ""
            mkdir(folder.file("two/\(name)"), 0o755)
            try folder.write(LivePipeline.yaml(), to: "two/\(name)/pipeline.yaml")
            unlink(folder.file("now"))
            symlink("two", folder.file("now"))
            try pipeline.kill("deliver")
            try pipeline.waitForRestarts()
            let link = "ipc://\(folder.file("one/\(name)"))/data/deliver.link"
            #expect(try Health.ask(link, pipeline.context).phase != "")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("\(pipeline.file):2:7: data: ")
            #expect(access(folder.file("two/\(name)/data"), F_OK) != 0, "another data folder was created")
            #expect(try pipeline.stop() == [])
        }
    }

    @Test func `an address in use is refused, and the pipeline continues`() async throws {
        let other = try ReservedPort()
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            let address = "tcp://127.0.0.1:\(other.number)"
            try pipeline.edit(
                LivePipeline.yaml().replacing(
                    "payload: {from: coalesce}", with: "payload: {from: coalesce, bind: \"\(address)\"}"))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("all stages keep their previous settings")
            let said = pipeline.up.lines.first { $0.contains(address) } ?? ""
            #expect(said.hasPrefix("payload: ") && said.contains("choose another `bind`"), "\(pipeline.up.lines)")
            let inbox = "{use: courier, listen: \"127.0.0.1:%\"}"
            let free = inbox.replacing("%", with: "0")
            try pipeline.edit(transport: "{use: file, path: pushes.ndjson}\n      inbox: \(free)")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("deliver: reloaded \(pipeline.file): inbox opened")
            let taken = inbox.replacing("%", with: "\(other.number)")
            try pipeline.edit(transport: "{use: file, path: pushes.ndjson}\n      inbox: \(taken)")
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("all stages keep their previous settings", count: 2)
            try pipeline.waitForLine("deliver: transports.inbox.listen: 127.0.0.1:\(other.number): port in use")
            try pipeline.send(Notes.commands(3))
            try pipeline.waitFor("outcome", count: 3)
            #expect(try pipeline.stop() + pipeline.problemsOfLogs() == [])
            #expect(!pipeline.up.lines.contains { $0.contains("starting it again") })
        }
    }

    @Test func `a reload names the changed keys of the pipeline file`() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline()
            try pipeline.edit(LivePipeline.yaml(coalesce: "window: 1ms").replacing("interval 50ms", with: "never"))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("coalesce: reloaded \(pipeline.file): log.sync, window")
            try pipeline.waitForLine("match: reloaded \(pipeline.file): log.sync")
            #expect(try pipeline.stop() == [])
        }
    }

    @Test(.enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
    func `a plugin's program is restarted with its new arguments`() async throws {
        try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(coalesceFrom: "filter", middle: Python.filter)
            let memo = { (text: String) in text.replacing(#""recordType":"Note""#, with: #""recordType":"Memo""#) }
            let commands = Notes.commands(3)
            try pipeline.send(commands + [memo(commands[1]).replacing("feed", with: "memos")])
            try pipeline.waitFor("outcome", count: 3)
            try pipeline.edit(
                LivePipeline.yaml(
                    coalesceFrom: "filter", middle: Python.filter.replacing("Draft]", with: "Draft, Note]")))
            pipeline.up.signal(SIGHUP)
            try pipeline.waitForLine("filter: reloaded \(pipeline.file): command")
            try pipeline.send((4...6).map(Notes.note) + [memo(Notes.note(7))], from: "after")
            try pipeline.waitFor("outcome", count: 4)
            #expect(try pipeline.stop() + pipeline.problemsOfLogs() == [])
            #expect(try pipeline.pushes().count == 4, "the plugin still passes notes on")
        }
    }

    /// At first the pipeline file is a pipe, so that the test knows when `up` reads it.
    @Test func `a hangup signal that comes before the file is read is obeyed later`() async throws {
        try await SocketThread.run(name: "faults") {
            let folder = try Folder()
            let file = folder.file("pipeline.yaml")
            #expect(mkfifo(file, 0o600) == 0)
            let up = try SpawnedProgram("belfry", ["up", file])
            var pipe: Int32 = -1
            try up.wait("belfry up opens its file") {
                pipe = open(file, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                return pipe >= 0
            }
            up.signal(SIGHUP)
            unlink(file)
            let text = LivePipeline.yaml()
            try folder.write(text, to: "pipeline.yaml")
            #expect(write(pipe, text, text.utf8.count) == text.utf8.count)
            close(pipe)
            try up.wait("belfry up is ready") { up.lines.contains("ready") }
            try up.wait("belfry up reads the file again") { up.lines.contains { $0.hasPrefix("\(file) is valid") } }
            up.signal(SIGTERM)
            #expect(try up.waitUntilExit() == 0, "\(up.lines)")
        }
    }
}

extension RunningAPNs {
    /// The settings of another app with the same key.
    fileprivate var otherApp: String {
        """
        , other: {container: iCloud.com.example.Notes, topic: com.example.Other, team: TEAMLOCAL1, key: KEYLOCAL12, \
        keyFile: {$file: \(key)}}
        """
    }

    fileprivate var renewed: String { "the connections of TEAMLOCAL1-KEYLOCAL12 at 127.0.0.1 are renewed" }
}
