import BuiltIns
import EventLog
import PipelineKit
import TestSupport
import Testing
import Time

@testable import Replay

struct LockstepStartTests {
    @Test func `a snapshot that the variant refuses is not restored by the baseline either`() async throws {
        let file = try PipelineFile.fiveStages()
        let pipeline = try VirtualPipeline(file)
        try await pipeline.run(
            Workload(seed: Seeded.ofThisRun, length: 20).commands, batchSizes: [], drains: true)
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        try logs.trim("changes", before: 10)
        let match = try #require(try RecordedPipeline(file, logs: logs.path).stage("match"))
        let type = try #require(Registry.builtIns.stages["match"])
        for refuses in [false, true] {
            let (baseline, variant) = (Machine(refuses: false), Machine(refuses: refuses))
            let start = LockstepStart(
                recorded: match, baseline: baseline, variant: variant, search: SnapshotSearch(match, type))
            if refuses {
                #expect(throws: ReplayError.self) { try start.first() }
            } else {
                #expect(try start.first().cursor > 0)
            }
            #expect(baseline.isRestored == !refuses && variant.isRestored == !refuses)
        }
    }

    private final class Machine: RestorableMachine {
        let output = MachineOutput()
        let deadline: Instant? = nil
        private(set) var isRestored = false
        private let refuses: Bool

        init(refuses: Bool) { self.refuses = refuses }

        func restore(_ state: [UInt8], _ header: SnapshotHeader) throws {
            if refuses { throw SnapshotError("another version", at: 0) }
            isRestored = true
        }

        func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) {}
        func advance(to time: Instant) {}
    }
}
