import EventLog
import Foundation
import Glibc
import TestSupport
import Testing
import ZeroMQ

/// Pipelines whose stages run on one of two hosts.
@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing))
struct HostsTests {
    @Test func `kills of hosts, stages and servers lose and invent no push`() async throws {
        let (rounds, seed) = (Tier.value(2, full: 50), Seeded.ofThisRun)
        try await SocketThread.run(name: "faults") {
            var random = Seeded(seed)
            let servers = try NATSServers(Tier.value(1, full: 3))
            let hosts = try LiveHosts(on: servers, replicas: Tier.value(1, full: 3))
            // The ordinary check has only time for the first two.
            let victims =
                ["a", "b"] + (LivePipeline.stages + ["server", "two servers", "paused host"]).shuffled(using: &random)
            let commands = Workload(seed: random.next(), changes: Tier.value(300, full: 2_500)).commands
            let size = commands.count / rounds + 1
            for round in 0..<rounds {
                let sending = try hosts.send(commands[(round * size)..<min((round + 1) * size, commands.count)])
                usleep(UInt32(random.below(600_000)))
                let pause = UInt32(random.below(2_000_000))
                switch victims[round % victims.count] {
                case "server": try servers.kill([random.below(3)], for: pause)
                case "two servers": try servers.kill([0, 1], for: pause)
                case "paused host":
                    let host = LiveHosts.names[random.below(2)]
                    hosts.signal(host, SIGSTOP)
                    usleep(2_500_000)
                    hosts.signal(host, SIGCONT)
                case let host where LiveHosts.names.contains(host):
                    hosts.kill(host)
                    usleep(pause)
                    try hosts.start(host)
                case let stage:
                    let owner = LiveHosts.names.first { LiveHosts.isOwner(of: stage, hosts.lines(of: $0)) }
                    if let pid = hosts.process(of: stage, on: owner ?? "a") { kill(pid, SIGKILL) }
                }
                #expect(try sending.waitUntilExit() == 0, "\(sending.lines)")
            }
            let expected = try hosts.expectedPushes(for: commands)
            try hosts.wait(for: "b", "every push") { _ in Set(try hosts.pushes()).isSuperset(of: expected) }
            let found = Set(try hosts.pushes())
            #expect(expected.count > 100 && found == expected)
            #expect(try hosts.stop("a") == 0)
            try hosts.waitUntilOwner("b")
            #expect(try hosts.stop("b") == 0)
            #expect(try hosts.problemsOfLogs(of: "b", commands: commands.count) == [])
        }
    }

    @Test func `a host that stops or is drained hands every stage over at once`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers, takeOver: "5m")
            try hosts.waitUntilOwner("a")
            #expect(try hosts.doctor().contains("host a runs 5 stages, host b runs 0 stages"))
            let commands = Notes.commands(30)
            #expect(try hosts.send(commands[..<12]).waitUntilExit() == 0)
            #expect(try hosts.drain("a") == 0)
            try hosts.waitUntilOwner("b")
            #expect(try hosts.send(commands[12..<22]).waitUntilExit() == 0)
            #expect(try hosts.stop("b") == 0)
            try hosts.waitUntilOwner("a")
            #expect(try hosts.doctor().contains("host b does not answer for coalesce, deliver, ingest, match, payload"))
            if Tier.current == .full {
                #expect(try hosts.drain("a") == 1)
                try hosts.waitUntilOwner("a")
            }
            #expect(try hosts.send(commands[22...]).waitUntilExit() == 0)
            try hosts.wait(for: "a", "every push") { _ in try hosts.pushes().count >= 30 }
            let (pushes, expected) = (try hosts.pushes(), try hosts.expectedPushes(for: commands))
            #expect(pushes.count == 30 && Set(pushes) == expected)
            #expect(try hosts.stop("a") == 0)
            #expect(try hosts.problemsOfLogs(of: "a", commands: commands.count) == [])
        }
    }

    @Test func `a copy of an owner's folder leaves the log to the owner`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers, takeOver: "5m")
            try hosts.waitUntilOwner("a")
            #expect(try hosts.send(Notes.commands(12)[...]).waitUntilExit() == 0)
            hosts.kill("b")
            try hosts.copyData(from: "a", to: "b")
            try hosts.start("b")
            #expect(try hosts.doctor().contains("host a runs 5 stages, host b runs 0 stages"))
            #expect(hosts.lines(of: "a").allSatisfy { !$0.contains("was taken over") })
        }
    }

    @Test func `a host that was stopped while another took over stores, acknowledges and sends nothing more`()
        async throws
    {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers)
            try hosts.waitUntilOwner("a")
            let commands = Notes.commands(40)
            #expect(try hosts.send(commands[..<22]).waitUntilExit() == 0)
            try hosts.wait(for: "a", "every push") { _ in try hosts.pushes().count >= 20 }
            let before = try hosts.pushes(of: "a")
            hosts.signal("a", SIGSTOP)
            let zombie = try hosts.producer(at: "a")
            try hosts.waitUntilOwner("b")
            #expect(try hosts.send(commands[22...], from: "b").waitUntilExit() == 0)
            try hosts.wait(for: "b", "every push") { _ in Set(try hosts.pushes()).count >= 40 }
            hosts.signal("a", SIGCONT)
            let end = ContinuousClock.now + .seconds(3)
            while .now < end { try zombie.pump(wait: .milliseconds(50)) }
            #expect(!zombie.isDone)
            #expect(try hosts.pushes(of: "a") == before)
            for stage in LivePipeline.stages {
                try hosts.wait(for: "a", "\(stage) stands by") { !LiveHosts.isOwner(of: stage, $0) }
            }
            let replaced = hosts.lines(of: "a").filter { line in
                line.contains("was taken over: ") && !line.contains("no snapshot")
            }
            #expect(replaced.count == 5 && replaced.contains { $0.contains("by host b") }, "\(replaced)")
            #expect(try hosts.stop("a") == 0 && hosts.stop("b") == 0)
            #expect(try hosts.problemsOfLogs(of: "b", commands: commands.count) == [])
        }
    }

    @Test func `lanes move to another host and lose and invent no push`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers, lanes: 2)
            try hosts.waitUntilOwner("a")
            let commands = HostsTests.publicNotes(10, users: 6)
            #expect(try hosts.send(commands[..<16]).waitUntilExit() == 0)
            try hosts.wait(for: "a", "some pushes") { _ in try hosts.pushes().count > 6 }
            hosts.kill("a")
            let sending = try hosts.send(commands[16...], from: "b")
            try hosts.waitUntilOwner("b")
            #expect(try sending.waitUntilExit() == 0)
            try hosts.wait(for: "b", "every push") { _ in Set(try hosts.pushes()).count >= 60 }
            func shapes(_ pushes: Set<String>) -> [String] {
                pushes.map { $0.replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "ID") }.sorted()
            }
            #expect(try shapes(Set(hosts.pushes())) == shapes(hosts.expectedPushes(for: commands)))
            #expect(try hosts.stop("b") == 0)
            #expect(try hosts.problemsOfLogs(of: "b", commands: commands.count) == [])
        }
    }

    /// Commands that register a device and a subscription of each user, and save notes that all of them watch.
    private static func publicNotes(_ count: Int, users: Int) -> [String] {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let owners = (0..<users).flatMap { user in
            [
                #"{"type":"device.register",\#(place),"user":"_u\#(user)","device":"phone","transport":"apns","#
                    + #""token":"0\#(user)","topic":"com.example.Notes"}"#,
                #"{"type":"subscription.save",\#(place),"database":"public","user":"_u\#(user)","subscription":{"#
                    + #""subscriptionID":"feed","subscriptionType":"query","query":{"recordType":"Note"},"#
                    + #""firesOn":["create"],"notificationInfo":{"alertBody":"A note"}}}"#,
            ]
        }
        let notes = (0..<count).map { note in
            #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"n\#(note)","#
                + #""recordType":"Note","fields":{}}}"#
        }
        return owners + notes
    }

    @Test func `a gateway follows ingest to another host`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers, hasGateway: true)
            try hosts.waitUntilOwner("a")
            func save(_ name: String) throws -> String {
                let record = #"{"recordName":"\#(name)","recordType":"Note","fields":{}}"#
                return try hosts.ask(
                    "private/records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}]}"#)
            }
            #expect(try hosts.doctor().contains("host b runs 0 stages, the gateway of host b answers"))
            #expect(try save("first").contains("recordChangeTag"))
            hosts.kill("a")
            #expect(try save("second").contains("recordChangeTag"))
            let found = try hosts.ask("private/records/query", #"{"query":{"recordType":"Note"}}"#)
            #expect(found.contains("first") && found.contains("second"), "\(found)")
            #expect(try hosts.stop("b") == 0)
        }
    }

    @Test func `stages go on while the gateway of their host cannot listen`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers, hasGateway: true, gatewayMayListen: false)
            try hosts.wait(for: "b", "the gateway was tried more often than a stage") { lines in
                lines.count { $0.hasPrefix("api: exited with status 69; starting it again in") } > 3
            }
            #expect(hosts.lines(of: "b").contains { $0.contains("api.listen: ") && $0.contains("port in use") })
            #expect(try hosts.doctor().contains("the gateway of host b does not answer at 127.0.0.1:"))
            hosts.freeGatewayPort()
            try hosts.wait(for: "b", "host b is ready") { $0.contains("ready") }
            for stage in LivePipeline.stages { #expect(hosts.lines(of: "b").contains("\(stage): standing by")) }
            #expect(try hosts.stop("b") == 0)
        }
    }

    @Test func `a second start of a host says that the host may already be running`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers()
            let hosts = try LiveHosts(on: servers)
            let lines = try hosts.linesOfSecondStart(of: "a")
            #expect(lines.contains { $0.contains("port in use") && $0.contains("perhaps host a is already running") })
        }
    }

    @Test(.full) func `no host takes over while the NATS servers have no majority`() async throws {
        try await SocketThread.run(name: "faults") {
            let servers = try NATSServers(3)
            let hosts = try LiveHosts(on: servers, replicas: 3)
            try hosts.waitUntilOwner("a")
            let commands = Notes.commands(30)
            #expect(try hosts.send(commands[..<12]).waitUntilExit() == 0)
            for index in 0..<2 { servers.end(index, with: SIGKILL) }
            let late = try hosts.send(commands[12...])
            usleep(8_000_000)
            #expect(try hosts.doctor().contains("waits for a majority of the NATS servers"))
            #expect(!hosts.lines(of: "b").contains { $0.contains("this host runs") })
            for index in 0..<2 { try servers.start(index) }
            #expect(try late.waitUntilExit() == 0, "\(late.lines)")
            try hosts.wait(for: "a", "every push") { _ in Set(try hosts.pushes()).count >= 30 }
            let (pushes, expected) = (Set(try hosts.pushes()), try hosts.expectedPushes(for: commands))
            #expect(pushes == expected)
        }
    }
}

extension NATSServers {
    /// Kills servers, and starts them again after a pause.
    ///
    /// - Parameter microseconds: The pause.
    fileprivate func kill(_ indices: [Int], for microseconds: UInt32) throws {
        for index in indices { end(index, with: SIGKILL) }
        usleep(microseconds)
        for index in indices { try start(index) }
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
