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
    private static func log(on servers: NATSServers, replicas: Int) -> String {
        "{home: jetstream, servers: [\(servers.addresses.map { "\"\($0)\"" }.joined(separator: ", "))], "
            + "replicas: \(replicas), snapshotBytes: 4KiB, segmentBytes: 64KiB}"
    }

    /// A killed host loses its whole data folder, as if its disk were gone.
    @Test func `kills of stages, servers and whole hosts lose and invent no push`() async throws {
        let (rounds, seed) = (Tier.value(8, full: 60), Seeded.ofThisRun)
        let (result, problems, victims) = try await SocketThread.run(name: "faults") {
            let servers = try NATSServers(Tier.value(1, full: 3))
            let pipeline = try LivePipeline(log: Self.log(on: servers, replicas: Tier.value(1, full: 3)))
            let disturbed = DisturbedRun(pipeline, seed: seed)
            let all = LivePipeline.stages + servers.addresses.indices.map { "server \($0)" } + ["host", "host"]
            var (next, victims) = ([String](), [String]())
            let result = try disturbed.run(disturbing: disturbed.evenRandomPositions(rounds)) {
                if next.isEmpty { next = disturbed.shuffle(all) }
                let victim = next.removeLast()
                victims.append(victim)
                switch victim {
                case "host": try pipeline.loseHost()
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
    /// Kills every process, removes the data folder, and starts the pipeline again as on another host.
    fileprivate func loseHost() throws {
        up.signal(SIGKILL)
        _ = try up.waitUntilExit(within: .seconds(30))
        try FileManager.default.removeItem(atPath: data)
        try startAgain()
    }
}
