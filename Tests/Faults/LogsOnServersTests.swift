import Foundation
import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Pipelines whose logs are kept on NATS servers.
@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing))
struct LogsOnServers {
    /// The logs of a pipeline on these servers.
    private static func log(on servers: NATSServers, replicas: Int, retention: String = "{}") -> String {
        "{home: jetstream, servers: [\(servers.addresses.map { "\"\($0)\"" }.joined(separator: ", "))], "
            + "replicas: \(replicas), snapshotBytes: 4KiB, segmentBytes: 64KiB, retention: \(retention)}"
    }

    /// A killed host loses its whole data folder, as if its disk were gone.
    @Test func `kills of stages, servers and whole hosts lose and invent no push`() async throws {
        let (rounds, seed) = (Tier.value(8, full: 60), Seeded.ofThisRun)
        let (result, problems, victims) = try await SocketThread.run(name: "faults") {
            let servers = try NATSServers(Tier.value(1, full: 3))
            let pipeline = try LivePipeline(log: Self.log(on: servers, replicas: Tier.value(1, full: 3)))
            let disturbed = DisturbedRun(pipeline, seed: seed)
            let all =
                LivePipeline.stages + servers.addresses.indices.map { "server \($0)" } + ["host", "host"]
                + (servers.addresses.count > 1 ? ["two servers"] : [])
            var (next, victims) = ([String](), [String]())
            let result = try disturbed.run(disturbing: disturbed.evenRandomPositions(rounds)) {
                if next.isEmpty { next = disturbed.shuffle(all) }
                let victim = next.removeLast()
                victims.append(victim)
                switch victim {
                case "host": try pipeline.loseHost()
                case "two servers":
                    for index in 0..<2 { servers.end(index, with: SIGKILL) }
                    for index in 0..<2 { try servers.start(index) }
                case _ where victim.hasPrefix("server "):
                    let index = try #require(Int(victim.dropFirst("server ".count)))
                    servers.end(index, with: SIGKILL)
                    try servers.start(index)
                default: try pipeline.kill(victim)
                }
            }
            return (result, try pipeline.problemsOfLogs(), victims)
        }
        result.check()
        #expect(problems == [] && victims.contains("host") && result.events == result.sent, "\(victims)")
    }

    @Test func `hosts that are lost one after the other continue from snapshots and from the logs' trimmed ends`()
        async throws
    {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let pipeline = try LivePipeline(log: Self.log(on: servers, replicas: 1, retention: "{bytes: 64KiB}"))
            let notes = 2_398
            let commands = Notes.commands(notes)
            for part in 0..<40 {
                try pipeline.send(Array(commands[part * 60..<part * 60 + 60]), from: "part-\(part)")
                // The last commands may still be on their way when the host is lost.
                if [9, 19, 29].contains(part) { try pipeline.loseHost() }
            }
            try pipeline.up.wait("every push") { Set(try pipeline.pushes()).count >= notes }
            #expect(Set(try pipeline.pushes()).count == notes)
            let names = try FileManager.default.contentsOfDirectory(atPath: "\(pipeline.data)/logs/matches")
            let first = try #require(names.filter { $0.hasSuffix(".log") }.min())
            #expect(first != "00000000000000000001.log", "nothing was removed: \(names)")
            #expect(try pipeline.stop() == [] && pipeline.problemsOfLogs() == [])
        }
    }

    @Test func `a host that was replaced stops with status 78, and stores and sends nothing more`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let first = try LivePipeline(log: Self.log(on: servers, replicas: 1))
            try first.send(Notes.commands(5))
            try first.waitFor("outcome", count: 5)
            let second = try LivePipeline(log: Self.log(on: servers, replicas: 1))
            let pushes = try first.pushes()
            let producer = try first.producer("late")
            _ = try producer.greet(timeout: .seconds(20))
            try producer.send(Array((Notes.commands(7)[0] + "\n").utf8), count: 1)
            let end = ContinuousClock.now + .seconds(60)
            while !first.up.isStandardErrorClosed, .now < end {
                try producer.pump(wait: .milliseconds(20))
                first.up.read(wait: .zero)
            }
            #expect(try first.up.waitUntilExit() == 78)
            #expect(!producer.isDone)
            #expect(
                first.up.lines.contains { $0.hasPrefix("ingest: log 'changes' was taken over: ") }, "\(first.up.lines)")
            #expect(try first.pushes() == pushes)
            #expect(try second.events(of: "changes") == Notes.commands(5).count)
            #expect(try second.stop() == [])
        }
    }

    @Test func `an existing pipeline gets its logs onto servers and back, byte for byte`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let pipeline = try LivePipeline(log: "{segmentBytes: 64KiB}")
            let commands = Notes.commands(900)
            try pipeline.send(Array(commands[..<300]), from: "files")
            try pipeline.waitFor("outcome", count: 298)
            #expect(try pipeline.stop() == [])
            let before = try pipeline.segments()

            try pipeline.edit(LivePipeline.yaml(log: Self.log(on: servers, replicas: 1)))
            try pipeline.startAgain()
            try pipeline.send(Array(commands[300..<600]), from: "home")
            try pipeline.waitFor("outcome", count: 598)
            #expect(try pipeline.stop() == [])
            let during = try pipeline.segments()
            for (name, bytes) in before {
                #expect(during[name].map { bytes == $0.prefix(bytes.count) } ?? bytes.isEmpty, "\(name)")
            }

            try FileManager.default.removeItem(atPath: pipeline.data)
            try pipeline.startAgain()
            #expect(try pipeline.stop() == [])
            #expect(try pipeline.segments() == during)

            try pipeline.edit(LivePipeline.yaml(log: "{segmentBytes: 64KiB}"))
            try pipeline.startAgain()
            try pipeline.send(Array(commands[600...]), from: "back")
            try pipeline.waitFor("outcome", count: 900)
            #expect(try pipeline.stop() == [] && pipeline.problemsOfLogs() == [])
            #expect(Set(try pipeline.pushes()).count == 900)
        }
    }

    @Test func `an export carries a pipeline of local files onto servers and back, byte for byte`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let (commands, files) = (Notes.commands(300), "{segmentBytes: 64KiB}")
            let first = try LivePipeline(log: files)
            let (second, before) = try first.continued(log: Self.log(on: servers, replicas: 1)) {
                try $0.send(Array(commands[..<100]), from: "first")
                try $0.waitFor("outcome", count: 98)
            }
            let (third, during) = try second.continued(log: files) {
                try $0.send(Array(commands[100..<200]), from: "second")
                try $0.waitFor("outcome", count: 198)
            }
            try third.send(Array(commands[200...]), from: "third")
            try third.waitFor("outcome", count: 300)
            #expect(try third.stop() == [] && third.problemsOfLogs() == [])
            let after = try third.segments()
            for (earlier, later) in [(before, during), (during, after)] {
                for (name, bytes) in earlier {
                    #expect(later[name].map { bytes == $0.prefix(bytes.count) } ?? bytes.isEmpty, "\(name)")
                }
            }
            let pushes = try [first, second, third].flatMap { try $0.pushes() }
            #expect(pushes.count == 300 && Set(pushes).count == 300)
        }
    }

    @Test func `after the loss of a machine the courier has its notifications again, and knows which were read`()
        async throws
    {
        try await SocketThread.run(name: "faults") {
            let (servers, port) = (try NATSServers(), try ReservedPort(forServer: true))
            let pipeline = try LivePipeline(
                transport: "{use: courier, listen: \"127.0.0.1:\(port.number)\"}",
                log: Self.log(on: servers, replicas: 1))
            let token = String(repeating: "0f", count: 32)
            try pipeline.send([Notes.device("phone", token)] + Notes.commands(20).dropFirst())
            try pipeline.waitFor("outcome", count: 20)
            let inbox = "http://127.0.0.1:\(port.number)/courier/\(token)"
            let before = try pipeline.get("\(inbox)/notifications")
            #expect(before.contains("notificationID"), "\(before)")
            let first = try #require(before.split(separator: "\"notificationID\":\"").dropFirst().first?.prefix(36))
            _ = try pipeline.get("\(inbox)/read", body: #"{"notificationIDs":["\#(first)"]}"#)
            #expect(before.split(separator: "\"isRead\":false").count == 21)
            let read = try pipeline.get("\(inbox)/notifications")
            #expect(read.split(separator: "\"isRead\":false").count == 20)
            try pipeline.loseHost()
            var after = ""
            try pipeline.up.wait("the inbox") {
                after = try pipeline.get("\(inbox)/notifications")
                return after == read
            }
            #expect(try pipeline.stop() == [])
        }
    }

    @Test func `servers that lost everything get the logs again from the local files after a repair`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let pipeline = try LivePipeline(log: Self.log(on: servers, replicas: 1))
            let commands = Notes.commands(200)
            try pipeline.send(Array(commands[..<100]), from: "before")
            try pipeline.waitFor("outcome", count: 98)
            #expect(try pipeline.stop() == [])
            servers.end(0, with: SIGKILL)
            try servers.wipe(0)
            try servers.start(0)
            try servers.waitUntilUp(0)
            for log in LivePipeline.logs {
                #expect(try pipeline.repair(log) == 1)
                #expect(try pipeline.repair(log, "--yes") == 0)
            }
            try pipeline.startAgain()
            try pipeline.send(Array(commands[100...]), from: "after")
            try pipeline.waitFor("outcome", count: 200)
            #expect(try pipeline.stop() == [])
            let segments = try pipeline.segments()
            try FileManager.default.removeItem(atPath: pipeline.data)
            try pipeline.startAgain()
            for log in LivePipeline.logs { #expect(try pipeline.repair(log) != 0, "the log is open") }
            #expect(try pipeline.stop() == [])
            #expect(try pipeline.segments() == segments && Set(pipeline.pushes()).count == 200)
            for log in LivePipeline.logs { #expect(try pipeline.repair(log) == 0) }
        }
    }

    @Test(.full) func `a pipeline stops although no server answers`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let pipeline = try LivePipeline(log: Self.log(on: servers, replicas: 1))
            try pipeline.send(Notes.commands(5))
            servers.end(0, with: SIGKILL)
            let producer = try pipeline.producer("late")
            _ = try producer.greet(timeout: .seconds(20))
            try producer.send(Array((Notes.commands(7)[0] + "\n").utf8), count: 1)
            pipeline.up.signal(SIGTERM)
            _ = try pipeline.up.waitUntilExit(within: .seconds(40))
            #expect(!producer.isDone)
        }
    }
}

extension LivePipeline {
    fileprivate static let logs = ["changes", "matches", "notifications", "pushes", "outcomes"]

    /// The exit status of `belfry log repair`.
    fileprivate func repair(_ log: String, _ options: String...) throws -> Int32 {
        let program = try SpawnedProgram(
            "belfry", ["log", "repair", log, "-p", file] + options, output: folder.file("repair"))
        return try program.waitUntilExit()
    }

    /// What an HTTP server answers, or nothing if it does not answer.
    ///
    /// - Parameter body: Sent with `POST`.
    fileprivate func get(_ url: String, body: String? = nil) throws -> String {
        let output = folder.file("answer")
        let words = ["/usr/bin/curl", "--silent", "--max-time", "5", url] + (body.map { ["--data", $0] } ?? [])
        _ = try SpawnedProgram(words, output: output).waitUntilExit()
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    /// Stops the pipeline after `work`, exports its logs, and starts another pipeline with the imported logs.
    ///
    /// - Parameter log: The other pipeline's settings of the logs.
    /// - Returns: The other pipeline, and the segments of this one.
    fileprivate func continued(
        log: String, after work: (LivePipeline) throws -> Void
    ) throws -> (LivePipeline, [String: Data]) {
        try work(self)
        #expect(try stop() == [])
        let (export, next) = (folder.file("export.ndjson"), try Folder())
        for (words, output) in [
            (["log", "export", file, "--with-tokens"], export),
            (["log", "import", export, "--to", next.file("data/logs")], "/dev/null"),
        ] {
            #expect(try SpawnedProgram("belfry", words, output: output).waitUntilExit() == 0)
        }
        return (try LivePipeline(folder: next, log: log), try segments())
    }

    /// The content of each segment of the stages' logs, by log and file.
    fileprivate func segments() throws -> [String: Data] {
        var segments: [String: Data] = [:]
        for log in LivePipeline.logs {
            let folder = "\(data)/logs/\(log)"
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".log") {
                segments["\(log)/\(name)"] = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
        }
        return segments
    }

    /// Kills every process, removes the data folder, and starts the pipeline again as on another host.
    fileprivate func loseHost() throws {
        up.signal(SIGKILL)
        _ = try up.waitUntilExit(within: .seconds(30))
        try FileManager.default.removeItem(atPath: data)
        try startAgain()
    }
}
