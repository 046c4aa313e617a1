import Glibc
import TestSupport
import Testing
import ZeroMQ

/// Stops or kills the supervisor, `belfry up`. All its processes end with it. Under load, a new supervisor
/// continues without loss.
@Suite(.serialized) struct WholeRestart {
    @Test(arguments: Tier.some(of: [SIGTERM, SIGKILL]))
    func `stopping or killing the supervisor under load loses nothing`(_ signal: Int32) async throws {
        let seed = Seeded.ofThisRun
        let (result, statuses) = try await SocketThread.run(name: "faults") {
            try DisturbedRun(LivePipeline(), seed: seed).run(startingAgainAfter: signal, times: 2)
        }
        result.check()
        #expect(statuses == (signal == SIGTERM ? [0, 0] : [128 + SIGKILL, 128 + SIGKILL]))
        // A clean stop waits for the transports, so there are no repeats.
        if signal == SIGTERM { #expect(result.pushes.count == result.expected.count) }
    }

    @Test(.enabled(if: Python.hasZeroMQ, Comment(rawValue: Python.missing)))
    func `a plugin ends when its supervisor is killed`() async throws {
        let status = try await SocketThread.run(name: "faults") {
            let pipeline = try LivePipeline(coalesceFrom: "filter", middle: Python.filter)
            pipeline.up.signal(SIGKILL)
            return try pipeline.up.waitUntilExit(within: .seconds(20))
        }
        #expect(status == 128 + SIGKILL)
    }
}

extension DisturbedRun {
    /// Ends `belfry up` at random positions of the input, waits until all its processes have ended, and starts it
    /// again.
    func run(startingAgainAfter signal: Int32, times: Int) throws -> (result: Result, statuses: [Int32]) {
        var statuses: [Int32] = []
        let result = try run(disturbing: randomPositions(times)) { [pipeline] in
            pipeline.up.signal(signal)
            statuses.append(try pipeline.up.waitUntilExit(within: .seconds(30)))
            try pipeline.startAgain()
        }
        return (result, statuses)
    }
}
