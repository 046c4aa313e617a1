import EventLog
import Foundation
import Glibc
import TestSupport
import Testing
import ZeroMQ

/// Pipelines whose stages run on one of two hosts.
@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing))
struct HostsTests {
    @Test func `hosts that are killed as a whole are replaced, and no push is lost or invented`() async throws {
        let (rounds, seed) = (Tier.value(3, full: 12), Seeded.ofThisRun)
        try await SocketThread.run(name: "faults") {
            var random = Seeded(seed)
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers)
            let commands = Workload(seed: random.next(), changes: Tier.value(400, full: 1_500)).commands
            let size = commands.count / rounds + 1
            for round in 0..<rounds {
                let sending = try hosts.send(commands[(round * size)..<min((round + 1) * size, commands.count)])
                usleep(UInt32(random.below(600_000)))
                let victim = LiveHosts.names[random.below(2)]
                hosts.kill(victim)
                usleep(UInt32(random.below(2_000_000)))
                try hosts.start(victim)
                #expect(try sending.waitUntilExit() == 0, "\(sending.lines)")
            }
            let expected = try hosts.expectedPushes(for: commands)
            try hosts.wait(for: "b", "every push") { _ in Set(try hosts.pushes()).isSuperset(of: expected) }
            let found = Set(try hosts.pushes())
            #expect(expected.count > 200 && found == expected)
            #expect(try hosts.stop("a") == 0)
            try hosts.waitUntilOwner("b")
            #expect(try hosts.stop("b") == 0)
            #expect(try hosts.problemsOfLogs(of: "b", commands: commands.count) == [])
        }
    }
}

extension LiveHosts {
    /// What is wrong with the logs of the host that ran the stages last.
    fileprivate func problemsOfLogs(of host: String, commands: Int) throws -> [String] {
        var problems: [String] = []
        for log in try EventLogs.list(in: folder.file("\(host)/data/logs")) {
            let report = try EventLogs.verify(directory: log.directory)
            if !report.isSound { problems.append("\(log.name): \(report)") }
            if log.name == "changes", report.events != UInt64(commands) {
                problems.append("\(report.events) changes of \(commands)")
            }
        }
        let replay = try SpawnedProgram(
            "belfry", ["replay", file(of: host), "--stage"] + LivePipeline.stages.dropFirst(),
            output: folder.file("replay.txt"))
        let status = try replay.waitUntilExit()
        guard status != 0 else { return problems }
        return problems + ["belfry replay ended with \(status)"] + replay.lines
    }
}
