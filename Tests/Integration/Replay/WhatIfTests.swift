import BuiltIns
import Foundation
import JSON
import PipelineKit
import Replay
import TestSupport
import Testing

/// Tests how `whatif` predicts the pushes under other settings or commands.
@Suite struct WhatIfTests {
    private static func file(_ settings: String = "window: 1s, maximumDelay: 3s") throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: settings)
    }

    private static func whatIf(
        _ file: PipelineFile, _ logs: String, _ change: (inout WhatIfChange) throws -> Void = { _ in }
    ) throws -> WhatIfReport {
        var other = WhatIfChange(file)
        try change(&other)
        return try WhatIf(RecordedPipeline(file, logs: logs), other, registry: .builtIns).run()
    }

    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Logs").path

    @Test(arguments: [("v1/live/live.yaml", "v1/live/logs"), ("v1/tour/quickstart.yaml", "v1/tour")])
    func `whatif that changes nothing finds no difference in recorded logs`(_ file: String, _ logs: String) throws {
        let file = try PipelineFile.load(path: Self.fixtures + "/" + file, registry: .builtIns)
        let report = try Self.whatIf(file, Self.fixtures + "/" + logs)
        #expect(report.isSame, "\(report)")
        #expect(report.pushes > 10)
    }

    @Test func `the progress of whatif is measured against the input of the first changed stage`() throws {
        let file = try PipelineFile.load(path: Self.fixtures + "/v1/live/live.yaml", registry: .builtIns)
        let recorded = try RecordedPipeline(file, logs: Self.fixtures + "/v1/live/logs")
        var change = WhatIfChange(file)
        #expect(try WhatIf(recorded, change, registry: .builtIns).progress.bytesTotal == recorded.stages[0].log.bytes)
        change.programs = ["payload": ["/bin/false"]]
        #expect(
            try WhatIf(recorded, change, registry: .builtIns).progress.bytesTotal
                == recorded.stage("payload")?.upstream?.bytes)
    }

    @Test func `whatif that changes nothing finds no difference in the logs of random commands`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let pipeline = try VirtualPipeline(Self.file())
        try await pipeline.run(
            Workload(seed: random.next(), length: 600).commands, batchSizes: [7, 90, 2], drains: true)
        let report = try Self.whatIf(Self.file(), pipeline.folderOfLogs)
        #expect(report.isSame, "\(report)")
        #expect(report.pushes == pipeline.pushes.count)
    }

    /// For comparison, the commands also run through a chain of stages with the other settings.
    @Test(
        arguments: ["latest", "debounce"],
        [
            "window: 0s", "window: 10ms", "window: 2s", "window: 30s", "policy: debounce", "policy: latest",
            "policy: none",
        ])
    func `whatif with other settings predicts how many pushes they add and remove`(_ policy: String, _ settings: String)
        async throws
    {
        var random = Seeded(Seeded.ofThisRun)
        let own = try Self.file("policy: \(policy), window: 1s, maximumDelay: 3s")
        let commands = Workload(seed: random.next(), length: Tier.value(250, full: 600)).commands
        let pipeline = try VirtualPipeline(own)
        try await pipeline.run(commands, batchSizes: [], drains: true)
        let rest = settings.hasPrefix("window") ? "policy: \(policy)" : "window: 1s"
        let other = try Self.file("\(settings), \(rest), maximumDelay: 60s")
        let chain = try Chain(other, registry: .builtIns)
        for command in commands { try chain.send(command) }
        try chain.finish()
        let report = try Self.whatIf(own, pipeline.folderOfLogs) { $0.file = other }
        let (before, after) = (Self.pushKeys(pipeline.pushes), Self.pushKeys(chain.pushes))
        #expect(report.added == after.subtracting(before).count)
        #expect(report.removed == before.subtracting(after).count)
        #expect(report.categories.keys.allSatisfy { [.coalescing, .badge, .fields, .other, .headers].contains($0) })
    }

    /// The notification, user, device and subscription of each push. The first three are the first members of a push.
    private static func pushKeys(_ pushes: [String]) -> Set<String> {
        Set(
            pushes.map { push in
                let subscription = push.firstRange(of: "\"sid\":").map { push[$0.upperBound...].prefix { $0 != "," } }
                return push.split(separator: ",").prefix(3).joined() + (subscription ?? "")
            })
    }

    // MARK: A small pipeline

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func subscription(_ id: String, _ predicate: String, _ body: String) -> String {
        """
        {"type":"subscription.save",\(place),"database":"public","user":"_ada","subscription":{"subscriptionID":"\(id)",\
        "subscriptionType":"query","query":{"recordType":"Note","predicate":"\(predicate)"},"firesOn":["create","update"],\
        "notificationInfo":{"alertBody":"\(body)"}}}
        """
    }

    private static func smallPipeline() async throws -> VirtualPipeline {
        let pipeline = try VirtualPipeline(file())
        let saves = (0..<10).map { number in
            """
            {"type":"record.save","time":"2026-01-01T00:00:\(10 + number)Z",\(place),"database":"public",\
            "record":{"recordName":"r\(number)","recordType":"Note","fields":{"stars":{"value":\(number),"type":"INT64"}}}}
            """
        }
        let device =
            #"{"type":"device.register",\#(place),"user":"_ada","device":"phone","transport":"apns","token":"aa","topic":"t"}"#
        try await pipeline.run(
            [device, subscription("s", "stars >= 5", "Hello")] + saves, batchSizes: [], drains: true)
        #expect(pipeline.pushes.count == 5)
        return pipeline
    }

    /// Runs `whatif` on the logs of `pipeline`. Keeps the pipeline alive meanwhile, because its release removes the
    /// logs.
    private static func whatIf(in pipeline: VirtualPipeline, _ change: (inout WhatIfChange) throws -> Void) throws
        -> WhatIfReport
    {
        try withExtendedLifetime(pipeline) { try whatIf(file(), pipeline.folderOfLogs, change) }
    }

    @Test func `whatif with an added subscription adds its pushes`() async throws {
        let report = try await Self.whatIf(in: Self.smallPipeline()) {
            $0.commands = [Self.subscription("more", "stars < 3", "Few")]
        }
        #expect((report.added, report.removed, report.changed) == (3, 0, 0))
        let group = try #require(report.groups.first)
        #expect((group.user, group.subscription, group.example) == ("_ada", "more", 3))
    }

    @Test func `whatif has separate groups for subscriptions whose names look alike`() async throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let report = try await Self.whatIf(in: Self.smallPipeline()) {
            $0.commands = [
                Self.subscription(composed, "stars < 3", "Few"), Self.subscription(decomposed, "stars < 3", "Few"),
            ]
        }
        #expect(report.added == 6)
        #expect(report.groups.map(\.subscription) == [ExactText(decomposed), ExactText(composed)])
    }

    @Test func `whatif with another predicate adds and removes pushes`() async throws {
        let report = try await Self.whatIf(in: Self.smallPipeline()) {
            $0.commands = [Self.subscription("s", "stars >= 3 AND stars < 8", "Hello")]
        }
        #expect((report.added, report.removed, report.changed) == (2, 2, 0))
    }

    @Test func `whatif with a command that sets another text changes each payload from the command's time on`()
        async throws
    {
        let report = try await Self.whatIf(in: Self.smallPipeline()) {
            let later = Self.subscription("s", "stars >= 5", "Good day")
            $0.commands = [
                later.replacing(#"save","#, with: #"save","time":"2026-01-01T00:00:17Z","#, maxReplacements: 1)
            ]
        }
        #expect((report.added, report.removed, report.changed) == (0, 0, 3))
        #expect(report.categories == [.alertText: 3])
        #expect(report.groups.first?.example == 10)
    }

    @Test func `whatif with a command that unregisters a device removes the pushes to the device`() async throws {
        let report = try await Self.whatIf(in: Self.smallPipeline()) {
            $0.commands = [#"{"type":"device.unregister",\#(Self.place),"user":"_ada","device":"phone"}"#]
        }
        #expect((report.added, report.removed, report.changed) == (0, 5, 0))
    }

    @Test func `a record change is rejected as a command of whatif`() async throws {
        let pipeline = try await Self.smallPipeline()
        #expect(throws: ReplayError.self) {
            try Self.whatIf(in: pipeline) {
                $0.commands = [
                    #"{"type":"record.save",\#(Self.place),"database":"public","record":{"recordName":"x","recordType":"N"}}"#
                ]
            }
        }
    }
}
