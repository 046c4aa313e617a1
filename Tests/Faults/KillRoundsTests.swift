import EventLog
import Foundation
import Glibc
import LocalAPNs
import TestSupport
import Testing
import ZeroMQ

/// Kills every process again and again under a continuous load. Afterwards no push is lost or invented, no `accepted`
/// outcome is written twice, every log is intact, and a replay finds no difference.
@Suite(.serialized) struct KillRounds {
    @Test func `kills of every stage lose and invent no push`() async throws {
        let rounds = Tier.value(20, full: 200)
        let (result, kills, _, problems) = try await KillRounds.run(rounds) { try LivePipeline() }
        result.check()
        #expect(problems == [])
        #expect(kills.values.reduce(0, +) == rounds)
        for stage in LivePipeline.stages { #expect(kills[stage, default: 0] >= rounds / 10, "\(stage): \(kills)") }
    }

    @Test(.full, .enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
    func `kills with a plugin between match and coalesce lose and invent no push`() async throws {
        let (result, kills, _, problems) = try await KillRounds.run(20, of: LivePipeline.stages + ["filter"]) {
            try LivePipeline(coalesceFrom: "filter", middle: Python.filter)
        }
        result.check()
        #expect(problems == [])
        #expect(kills.values.reduce(0, +) == 20)
    }

    /// Each push arrives with a single apns-id. After a kill, deliver repeats at most as many pushes as could be in
    /// flight.
    @Test func `kills lose no push in flight to APNs`() async throws {
        let rounds = Tier.value(10, full: 200)
        let folder = try Folder()
        var configuration = LocalAPNs.Configuration()
        (configuration.port, configuration.folder, configuration.streams) = (0, folder.path, Self.streams)
        let apns = try await LocalAPNs.start(configuration)
        try await apns.control(#"{"script":[{"do":{"latency":[5,25]}}]}"#)
        let transport = """
            {use: apns, host: 127.0.0.1, port: \(apns.port), trust: \(folder.file("ca.pem")), apps: {notes: \
            {container: iCloud.com.example.Notes, topic: com.example.Notes, team: TEAMLOCAL1, key: KEYLOCAL12, \
            keyFile: {$file: \(folder.file("AuthKey_KEYLOCAL12.p8"))}}}}
            """
        let (result, kills, possibleRepeats, problems) = try await KillRounds.run(
            rounds, changes: Tier.value(150, full: 600)
        ) {
            try LivePipeline(transport: transport)
        }
        let received = apns.received.filter { $0.status == 200 }
        try await apns.stop()
        let wanted = Set(result.expected.compactMap(\.apnsID))
        let found = Set(received.map(\.id))
        #expect(wanted.count == result.expected.count && wanted.count > Tier.value(60, full: 500))
        #expect(wanted.subtracting(found).sorted().prefix(3) == [], "lost")
        #expect(found.subtracting(wanted).sorted().prefix(3) == [], "invented")
        #expect(result.repeatedOutcomes == [] && problems == [] && kills["deliver", default: 0] >= rounds / 10)
        let repeats = received.count - found.count
        let repeatsByProcess = KillRounds.repeatsByProcess(received)
        print("\(received.count) requests, \(repeats) repeats, after a kill at most \(repeatsByProcess.max() ?? 0)")
        #expect(repeatsByProcess.reduce(0, +) == repeats)
        #expect(repeatsByProcess.allSatisfy { $0 <= Self.streams }, "\(repeatsByProcess)")
        let unmarked = Set(received.filter(\.isRepeat).map(\.id)).subtracting(possibleRepeats)
        #expect(unmarked.isEmpty && possibleRepeats.count <= Self.streams * kills["deliver", default: 0], "\(unmarked)")
    }

    private static let streams = 8

    /// How many pushes each process of deliver repeated. Each process has only one connection.
    private static func repeatsByProcess(_ requests: [RecordedRequest]) -> [Int] {
        Dictionary(grouping: requests, by: \.connection).values.map { $0.count(where: \.isRepeat) }
    }

    private static func run(
        _ rounds: Int, of stages: [String] = LivePipeline.stages, changes: Int? = nil,
        _ start: @escaping @Sendable () throws -> LivePipeline
    ) async throws -> (DisturbedRun.Result, [String: Int], possibleRepeats: Set<String>, problems: [String]) {
        let seed = Seeded.ofThisRun
        return try await SocketThread.run(name: "faults") {
            let (begun, pipeline) = (ContinuousClock.now, try start())
            let disturbed = DisturbedRun(pipeline, seed: seed, changes: changes ?? 15 * rounds + 1_000)
            let (result, kills) = try disturbed.run(rounds: rounds, killing: stages)
            print("\(rounds) kills in \(ContinuousClock.now - begun): \(kills.sorted { $0.key < $1.key })")
            return (result, kills, try pipeline.possibleRepeats(), try pipeline.problemsOfLogs())
        }
    }
}

extension DisturbedRun {
    /// Each time this many stages were killed, the supervisor is killed too: its pauses before restarts have grown, and
    /// a new supervisor begins with short pauses.
    private static var killsPerSupervisor: Int { 12 }

    /// Sends everything, and meanwhile kills one process after the other.
    ///
    /// - Returns: The result, and how many times each stage was killed.
    func run(rounds: Int, killing stages: [String]) throws -> (Result, [String: Int]) {
        var (kills, count, next) = ([String: Int](), 0, [String]())
        let result = try run(disturbing: evenRandomPositions(rounds)) { [self] in
            if next.isEmpty { next = shuffle(stages) }
            let stage = next.removeLast()
            try pipeline.kill(stage)
            kills[stage, default: 0] += 1
            count += 1
            guard count % Self.killsPerSupervisor == 0 else { return }
            pipeline.up.signal(SIGKILL)
            _ = try pipeline.up.waitUntilExit(within: .seconds(30))
            try pipeline.startAgain()
        }
        return (result, kills)
    }
}

extension LivePipeline {
    /// Checks that every log is intact, and that a replay agrees with the logs of match, coalesce, payload and deliver.
    /// Returns a text for each problem.
    func problemsOfLogs() throws -> [String] {
        var problems: [String] = []
        for log in try EventLogs.list(in: folder.file("data/logs")) {
            let report = try EventLogs.verify(directory: log.directory)
            if !report.isSound { problems.append("\(log.name): \(report)") }
        }
        let arguments = ["replay", file, "--stage"] + LivePipeline.stages.dropFirst()
        let replay = try SpawnedProgram("belfry", arguments, output: folder.file("replay.txt"))
        let status = try replay.waitUntilExit()
        guard status != 0 else { return problems }
        return problems + ["belfry replay ended with \(status)"] + replay.lines + (try folder.lines(of: "replay.txt"))
    }
}
