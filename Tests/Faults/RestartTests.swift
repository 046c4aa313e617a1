import Glibc
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

/// Kills stages while changes flow. In the end, the transport has got the same pushes as in an undisturbed run. It may
/// have got some of them twice.
@Suite(.serialized) struct Restart {
    @Test(arguments: Tier.some(of: LivePipeline.stages))
    func `a stage that is killed repeatedly loses and invents no push`(_ stage: String) async throws {
        let seed = Seeded.ofThisRun
        let result = try await SocketThread.run(name: "faults") {
            try DisturbedRun(LivePipeline(), seed: seed).run(killing: [stage], times: 3)
        }
        result.check()
        #expect(result.restarts == 3)
    }

    @Test(.enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
    func `if the match stage or a stage written in Python is killed, no push is lost or invented`() async throws {
        let seed = Seeded.ofThisRun
        let result = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(coalesceFrom: "filter", middle: Python.filter)
            return try DisturbedRun(pipeline, seed: seed).run(killing: ["filter", "match"], times: 4)
        }
        result.check()
        #expect(result.restarts == 4)
    }

    @Test func `kills of random stages lose and invent no push`() async throws {
        let seed = Seeded.ofThisRun
        let result = try await SocketThread.run(name: "faults") {
            try DisturbedRun(LivePipeline(), seed: seed).run(killing: LivePipeline.stages, times: 8)
        }
        result.check()
    }
}

/// Sends commands to a pipeline, and disturbs the pipeline at given positions of the input. A seed determines the
/// commands and the random positions.
final class DisturbedRun {
    let pipeline: LivePipeline
    private let commands: [String]
    private var random: Seeded
    /// How many commands the door has accepted.
    private(set) var accepted: UInt64 = 0
    private var sent = 0

    init(_ pipeline: LivePipeline, seed: UInt64, changes: Int = Tier.value(800, full: 3_000)) {
        self.pipeline = pipeline
        random = Seeded(seed)
        commands = Workload(seed: random.next(), changes: changes).commands
    }

    struct Result: Sendable {
        /// The exit status of `belfry up`, after all its children have ended.
        var status: Int32
        /// The pushes of a run that nothing disturbs.
        var expected: [String]
        var pushes: [String]
        /// How many commands the door refused.
        var refused: Int
        var repeatedOutcomes: [String]
        /// How many lines of `belfry up` report a restarted process.
        var restarts: Int
        /// How many commands were sent.
        var sent: Int
        /// How many events are in the changes log.
        var events: Int

        /// Checks that no push is lost or invented, and that no `accepted` outcome is written twice. Each push
        /// has the same notification, device and apns-id in every run.
        func check(sourceLocation: SourceLocation = #_sourceLocation) {
            let (wanted, found) = (Set(expected), Set(pushes))
            #expect(status == 0, sourceLocation: sourceLocation)
            #expect(refused == 0, sourceLocation: sourceLocation)
            #expect(expected.count > 500, "the workload makes too few pushes", sourceLocation: sourceLocation)
            #expect(wanted.count == expected.count, sourceLocation: sourceLocation)
            #expect(wanted.subtracting(found).sorted().prefix(3) == [], "lost", sourceLocation: sourceLocation)
            #expect(found.subtracting(wanted).sorted().prefix(3) == [], "unexpected", sourceLocation: sourceLocation)
            #expect(repeatedOutcomes == [], sourceLocation: sourceLocation)
        }
    }

    /// Sends everything, and kills a random stage at each of `times` random positions of the input. Before
    /// a kill, waits for a restart only if the stage has no process.
    func run(killing stages: [String], times: Int) throws -> Result {
        try run(disturbing: randomPositions(times)) { [self] in
            try pipeline.kill(stages[random.below(stages.count)])
        }
    }

    /// Random positions, one in each of `count` equal parts of the input.
    func evenRandomPositions(_ count: Int) -> [Int] {
        (0..<count).map { $0 * commands.count / count + random.below(commands.count / count) }
    }

    /// Two positions: after one third and after two thirds of the input.
    var thirds: [Int] { [commands.count / 3, commands.count * 2 / 3] }

    var isHalfway: Bool { sent > commands.count / 2 }

    func shuffle(_ stages: [String]) -> [String] { stages.shuffled(using: &random) }

    /// Random positions anywhere in the input.
    func randomPositions(_ count: Int) -> [Int] { (0..<count).map { _ in random.below(commands.count) } }

    /// Sends everything, calls `disturb` at the given positions, waits until every push was accepted, and stops
    /// the pipeline.
    func run(disturbing positions: [Int], _ disturb: () throws -> Void) throws -> Result {
        let expected = try pipeline.expectedPushes(for: commands)
        var refused = 0
        let producer = try pipeline.producer()
        producer.onAnswer = { [self] in
            refused += $0.refused
            accepted += UInt64($0.accepted)
        }
        _ = try producer.greet(timeout: .seconds(20))
        var start = 0
        while start < commands.count {
            let end = min(commands.count, start + 1 + random.below(60))
            sent = end
            let piece = commands[start..<end].joined(separator: "\n") + "\n"
            try producer.send(Array(piece.utf8), count: end - start)
            try producer.pump(wait: .milliseconds(random.below(4)))
            for _ in positions.filter({ (start..<end).contains($0) }) { try disturb() }
            start = end
        }
        while !producer.isDone { try producer.pump(wait: .milliseconds(100)) }
        try pipeline.waitForRestarts()
        let repeated = try pipeline.waitForAcceptedOutcomes(expected.count)
        let events = try pipeline.events(of: "changes")
        pipeline.up.signal(SIGTERM)
        let status = try pipeline.up.waitUntilExit()
        return Result(
            status: status, expected: expected, pushes: try pipeline.pushes(), refused: refused,
            repeatedOutcomes: repeated,
            restarts: pipeline.up.lines.filter { $0.contains(": started again, process ") }.count, sent: commands.count,
            events: events)
    }
}
