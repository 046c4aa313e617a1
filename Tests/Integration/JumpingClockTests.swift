import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import Testing
import Time

/// Tests pipelines on a machine whose clock jumps forwards and back.
@Suite struct JumpingClock {
    private static func jumping(_ seed: UInt64) -> HostTime {
        let clock = Clock(seed: seed)
        return HostTime(wall: { clock.read() })
    }

    private final class Clock: Sendable {
        private let random: Mutex<Seeded>
        init(seed: UInt64) { random = Mutex(Seeded(seed)) }
        func read() -> Instant {
            let jump = random.withLock { $0.below(7_200_000) - 3_600_000 }
            return Instant(microseconds: Instant.testWall.microseconds + Int64(jump) * 1_000)
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a jumping clock changes no push, and the times in a log never go back`()
        async throws
    {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: 600).commands
        let expected = try VirtualPipeline(PipelineFile.fiveStages(coalesce: "window: 0s"))
        try await expected.run(commands, batchSizes: [], drains: true)
        for snapshotBytes in [1, nil] as [Int?] {
            let pipeline = try VirtualPipeline(
                PipelineFile.fiveStages(coalesce: "window: 0s"),
                log: LogSettings(sync: .never, snapshotBytes: snapshotBytes),
                time: Self.jumping(random.next()), clock: .wall)
            let places = (0..<4).map { _ in random.below(commands.count) }.sorted()
            let batchSizes = (0..<50).map { _ in 1 + random.below(40) }
            for (start, end) in zip([0] + places, places) {
                try await pipeline.run(Array(commands[start..<end]), batchSizes: batchSizes, drains: false)
            }
            let wanted = expected.pushes.count
            try await pipeline.run(Array(commands[(places.last ?? 0)...]), batchSizes: batchSizes, drains: false) {
                process in
                try await process.last.wait(for: "\(wanted) pushes") { _ in pipeline.pushes.count >= wanted }
            }
            #expect(pipeline.pushes == expected.pushes)
            for log in VirtualPipeline.logs {
                #expect(try EventLogs.verify(directory: pipeline.folder.path + "/logs/" + log).isSound)
            }
        }
    }
}

extension Instant {
    fileprivate static let testWall = Instant(microseconds: 1_767_225_600_000_000)
}
