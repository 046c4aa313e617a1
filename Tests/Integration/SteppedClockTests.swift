import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import Testing
import Time

/// Tests a machine whose clock is set back while notifications are held.
@Suite struct SteppedClock {
    private final class Machine: Sendable {
        private let step = Mutex(Duration.zero)

        func moveClock(by step: Duration) { self.step.withLock { $0 += step } }

        var time: HostTime { HostTime(wall: { Instant.wall().advanced(by: self.step.withLock { $0 }) }) }
    }

    private static var commands: [String] {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let start = [
            #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"t"}"#,
            #"{"type":"subscription.save",\#(place),"database":"private","user":"_a","subscription":{"subscriptionID":"s","#
                + #""subscriptionType":"zone","zoneID":{"zoneName":"Notes"},"notificationInfo":{"alertBody":"A note","collapseIDKey":"c"}}}"#,
        ]
        return start + [
            #"{"type":"record.save",\#(place),"database":"private","owner":"_a","record":{"recordName":"n","#
                + #""recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_a"}}}"#
        ]
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `a held notification is sent when its window ends, even if the clock was set back`(isRestarted: Bool)
        async throws
    {
        let machine = Machine()
        let pipeline = try VirtualPipeline(
            PipelineFile.fiveStages(coalesce: "policy: debounce, window: 1s"), time: machine.time, clock: .wall)
        try await pipeline.run(Self.commands, batchSizes: [], drains: false) { process in
            let coalesce = try #require(process.hosts.first { $0.plan.stage == "coalesce" })
            try await coalesce.wait(for: "the match") { $0.taken >= 2 }
            machine.moveClock(by: .seconds(-3_600))
            if !isRestarted { try await Self.waitForPushAndReportedStep(pipeline, process) }
        }
        if isRestarted {
            try await pipeline.run([], batchSizes: [], drains: false) {
                try await Self.waitForPushAndReportedStep(pipeline, $0)
            }
        }
    }

    /// Waits for the push, and until each stage reports that the clock is about an hour behind.
    private static func waitForPushAndReportedStep(_ pipeline: VirtualPipeline, _ process: PipelineProcess)
        async throws
    {
        try await process.last.wait(for: "the push", within: .seconds(20)) { _ in pipeline.pushes.count == 1 }
        for host in process.hosts {
            try await host.wait(for: "the report of the step") {
                (.seconds(3_500)...(.seconds(3_600))).contains($0.clockBehind)
            }
        }
    }
}
