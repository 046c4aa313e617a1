import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

/// A pipeline file is edited while its logs live on.
@Suite struct SettingsChangeTests {
    private static let policies = ["debounce", "latest", "none", "latest"]

    private static func file(window: Int, policy: String = "latest", transports: String = "{apns: {use: console}}")
        throws -> PipelineFile
    {
        try PipelineFile.fiveStages(
            coalesce: "policy: \(policy), window: \(window)ms, maximumDelay: 20s", transports: transports)
    }

    /// Plays a story, each part under the next window and policy; the last one drains.
    private func play(
        _ windows: [Int], seed: UInt64, log: LogSettings = LogSettings(sync: .never)
    ) async throws -> VirtualPipeline {
        var random = Seeded(seed)
        let commands = Story(seed: random.next(), length: 200 * windows.count).commands
        var pipeline = try VirtualPipeline(Self.file(window: windows[0], policy: Self.policies[0]), log: log)
        for (part, window) in windows.enumerated() {
            pipeline = try VirtualPipeline(
                Self.file(
                    window: window, policy: Self.policies[part],
                    transports: part % 2 == 0 ? "{apns: {use: console}}" : "{other: {use: console}}"),
                log: log, folder: pipeline.folder)
            let isLast = part == windows.count - 1
            let end = isLast ? commands.count : 200 * (part + 1)
            try await pipeline.live(
                Array(commands[200 * part..<end]), cuts: (0..<200).map { _ in 1 + random.below(30) },
                without: isLast ? nil : 1 + random.below(4), drains: isLast)
        }
        return pipeline
    }

    @Test(arguments: [nil, 64 << 10])
    func logsMadeUnderSeveralSettingsReplayIdenticallyUnderAnyPipelineFile(snapshotBytes: Int?) async throws {
        let seed = Seeded.ofThisRun
        let log = LogSettings(sync: .never, snapshotBytes: snapshotBytes)
        let pipeline = try await play([1_000, 5_000, 10, 3_000], seed: seed, log: log)
        for window in [1, 3_000] {
            let recorded = try RecordedPipeline(Self.file(window: window), logs: pipeline.folderOfLogs)
            let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
            #expect(results.compactMap(\.difference) == [], "BELFRY_SEED=\(seed)")
        }
        let copy = try pipeline.exportedAndImported()
        for log in VirtualPipeline.logs {
            let file = "\(log)/settings.ndjson"
            #expect(
                FileManager.default.contentsEqual(
                    atPath: "\(pipeline.folderOfLogs)/\(file)", andPath: "\(copy)/\(file)"))
        }
        let imported = try RecordedPipeline(Self.file(window: 1), logs: copy)
        let results = try await PipelineReplay(imported, MachineFactory(registry: .builtIns)).run()
        #expect(results.compactMap(\.difference) == [], "imported, BELFRY_SEED=\(seed)")
        let history = try SettingsHistory(logDirectory: pipeline.folderOfLogs + "/notifications")
        // A stage that is stopped before it meets its upstream has not gone on under the new ones.
        #expect(history.entries.count >= 2)
    }

    @Test func aWiderWindowSendsNothingTwice() async throws {
        let log = LogSettings(sync: .never, snapshotBytes: nil)
        let pipeline = try await play([10, 20_000], seed: Seeded.ofThisRun, log: log)
        var told: Set<String> = []
        for event in try pipeline.events(of: "notifications") where event.hasPrefix("{\"type\":\"notification\"") {
            let causes = event.prefix { $0 != "]" }
            let subscription = event.split(separator: "\"subscriptionID\":")[1].prefix { $0 != "," }
            let user = event.split(separator: "\"user\":")[1].prefix { $0 != "," }
            #expect(told.insert("\(causes) \(user) \(subscription)").inserted, "\(event)")
        }
        #expect(told.count > 20)
    }

    /// As a log is that an earlier build left: with settings that name no policy and no limit, or with none at all.
    @Test(arguments: [true, false])
    func aLogFromBeforeThereWerePoliciesGoesOnAndReplaysAsItWas(hasSettings: Bool) async throws {
        let seed = Seeded.ofThisRun
        let commands = Story(seed: seed, length: 500).commands
        let then = try Self.file(window: 1_000, policy: "debounce, pendingPerUser: 1000000000")
        let old = try VirtualPipeline(then)
        try await old.live(Array(commands[..<400]), cuts: [], drains: false) { pipeline in
            // A log without a batch has no past to go on from.
            for host in pipeline.hosts where host.plan.stage == "coalesce" {
                try await host.wait(for: "a first notification") { $0.last > 0 }
            }
        }
        let path = old.folderOfLogs + "/notifications/settings.ndjson"
        let said = try String(contentsOfFile: path, encoding: .utf8)
        #expect(said.contains(#""settings":{"maximumDelay":"20s","pendingPerUser":"1000000000","policy":"debounce","#))
        try FileManager.default.removeItem(atPath: path)
        if hasSettings {
            let line = #"{"after":0,"now":0,"kind":"coalesce","settings":{"maximumDelay":"20s","window":"1000ms"}}"#
            try Data((line + "\n").utf8).write(to: URL(fileURLWithPath: path))
        }
        let now = try PipelineFile.fiveStages(coalesce: "window: 1000ms, maximumDelay: 20s")
        func expectReplay(_ what: String) async throws {
            let recorded = try RecordedPipeline(now, logs: old.folderOfLogs)
            let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
            #expect(results.compactMap(\.difference) == [], "\(what), BELFRY_SEED=\(seed)")
            #expect(try WhatIf(recorded, WhatIfChange(now), registry: .builtIns).run().isSame, "\(what), seed \(seed)")
        }
        try await expectReplay("as it was")
        let new = try VirtualPipeline(now, folder: old.folder)
        try await new.live(Array(commands[400...]), cuts: [], drains: true)
        let history = try SettingsHistory(logDirectory: old.folderOfLogs + "/notifications")
        #expect(history.entries.map { $0.settings.contains(#""policy":"latest""#) } == [false, true])
        try await expectReplay("gone on under latest")
    }
}
