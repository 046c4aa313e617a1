import BuiltIns
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

/// Tests pipelines whose settings change between runs with the same logs.
@Suite struct SettingsChangeTests {
    private static let policies = ["debounce", "latest", "none", "latest"]

    private static func file(window: Int, policy: String = "latest", transports: String = "{apns: {use: console}}")
        throws -> PipelineFile
    {
        try PipelineFile.fiveStages(
            coalesce: "policy: \(policy), window: \(window)ms, maximumDelay: 20s", transports: transports)
    }

    /// Runs random commands in parts, each with another window, policy and transport than the part before it. After
    /// the last part, all held notifications are sent.
    private func runInParts(
        windows: [Int], seed: UInt64, log: LogSettings = LogSettings(sync: .never)
    ) async throws -> VirtualPipeline {
        var random = Seeded(seed)
        let commands = Workload(seed: random.next(), length: 200 * windows.count).commands
        var pipeline = try VirtualPipeline(Self.file(window: windows[0], policy: Self.policies[0]), log: log)
        for (part, window) in windows.enumerated() {
            pipeline = try VirtualPipeline(
                Self.file(
                    window: window, policy: Self.policies[part],
                    transports: part % 2 == 0 ? "{apns: {use: console}}" : "{other: {use: console}}"),
                log: log, folder: pipeline.folder)
            let isLast = part == windows.count - 1
            let end = isLast ? commands.count : 200 * (part + 1)
            try await pipeline.run(
                Array(commands[200 * part..<end]), batchSizes: (0..<200).map { _ in 1 + random.below(30) },
                stoppingStageAtHalf: isLast ? nil : 1 + random.below(4), drains: isLast)
        }
        return pipeline
    }

    @Test(arguments: [nil, 64 << 10])
    func `replays of logs with several settings find no difference, even with another pipeline file or after import`(
        snapshotBytes: Int?
    ) async throws {
        let seed = Seeded.ofThisRun
        let log = LogSettings(sync: .never, snapshotBytes: snapshotBytes)
        let pipeline = try await runInParts(windows: [1_000, 5_000, 10, 3_000], seed: seed, log: log)
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
        // A stage that was stopped early has perhaps not recorded the settings of its run.
        #expect(history.entries.count >= 2)
    }

    @Test func `a wider window sends no notification twice`() async throws {
        let log = LogSettings(sync: .never, snapshotBytes: nil)
        let pipeline = try await runInParts(windows: [10, 20_000], seed: Seeded.ofThisRun, log: log)
        var seen: Set<String> = []
        for event in try pipeline.events(of: "notifications") where event.hasPrefix("{\"type\":\"notification\"") {
            let causes = event.prefix { $0 != "]" }
            let subscription = event.split(separator: "\"subscriptionID\":")[1].prefix { $0 != "," }
            let user = event.split(separator: "\"user\":")[1].prefix { $0 != "," }
            #expect(seen.insert("\(causes) \(user) \(subscription)").inserted, "\(event)")
        }
        #expect(seen.count > 20)
    }

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func command(_ type: String, at time: String, _ rest: String) -> String {
        #"{"type":"\#(type)","time":"2026-01-01T09:00:\#(time)Z",\#(place),\#(rest)}"#
    }

    private static func note(_ name: String, at time: String) -> String {
        command(
            "record.save", at: time, #""database":"public","record":{"recordName":"\#(name)","recordType":"Note"}"#)
    }

    /// Coalesce restarts under `latest` while it holds the first notification. It sends this notification at its
    /// deadline, before the next match arrives. `latest` remembers when the first notification was sent, so the second
    /// notification waits for the end of the window. In the third run, coalesce rebuilds its state from the logs. The
    /// rebuilt state must also have the time at which the first notification was sent.
    @Test func `a stage that rebuilds its state handles each deadline under the settings that were valid then`()
        async throws
    {
        let log = LogSettings(sync: .never, snapshotBytes: nil)
        let subscription =
            #""subscriptionID":"all","subscriptionType":"query","query":{"recordType":"Note","predicate":"TRUEPREDICATE"},"#
            + #""firesOn":["create"],"notificationInfo":{"shouldSendContentAvailable":true}"#
        let commands = [
            Self.command(
                "subscription.save", at: "00.000",
                #""database":"public","user":"_a","subscription":{\#(subscription)}"#),
            Self.note("first", at: "01.000"), Self.note("second", at: "02.100"),
        ]
        let before = try VirtualPipeline(Self.file(window: 1_000, policy: "debounce"), log: log)
        try await before.run(Array(commands[..<2]), batchSizes: [], drains: false) {
            try await $0.waitForCoalesce(toTake: 1)
        }
        let file = try Self.file(window: 5_000)
        let after = try VirtualPipeline(file, log: log, folder: before.folder)
        try await after.run([commands[2]], batchSizes: [], drains: false) {
            try await $0.waitForCoalesce(toTake: 2)
        }
        let history = try SettingsHistory(logDirectory: after.folderOfLogs + "/notifications")
        #expect(history.entries.map(\.after) == [0, 1])
        #expect(try after.events(of: "notifications").count == 1, "the second notification was sent too early")
        try await after.run([], batchSizes: [], drains: true)
        #expect(try after.events(of: "notifications").count == 2)
        let recorded = try RecordedPipeline(file, logs: after.folderOfLogs)
        let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
        #expect(results.compactMap(\.difference) == [])
    }

    /// Imitates a log of an earlier version. Its recorded settings lack `policy` and `pendingPerUser`, or it has no
    /// recorded settings.
    @Test(arguments: [true, false])
    func `a log from before policies existed can be continued and replayed`(hasSettings: Bool) async throws {
        let seed = Seeded.ofThisRun
        let commands = Workload(seed: seed, length: 500).commands
        let oldFile = try Self.file(window: 1_000, policy: "debounce, pendingPerUser: 1000000000")
        let old = try VirtualPipeline(oldFile)
        try await old.run(Array(commands[..<400]), batchSizes: [], drains: false) { pipeline in
            // If its log were still empty, coalesce would start under the new settings in the next run.
            for host in pipeline.hosts where host.plan.stage == "coalesce" {
                try await host.wait(for: "a first notification") { $0.last > 0 }
            }
        }
        let path = old.folderOfLogs + "/notifications/settings.ndjson"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains(#""settings":{"maximumDelay":"20s","pendingPerUser":"1000000000","policy":"debounce","#))
        try FileManager.default.removeItem(atPath: path)
        if hasSettings {
            let line = #"{"after":0,"now":0,"kind":"coalesce","settings":{"maximumDelay":"20s","window":"1000ms"}}"#
            try Data((line + "\n").utf8).write(to: URL(fileURLWithPath: path))
        }
        let newFile = try PipelineFile.fiveStages(coalesce: "window: 1000ms, maximumDelay: 20s")
        func expectReplay(_ what: String) async throws {
            let recorded = try RecordedPipeline(newFile, logs: old.folderOfLogs)
            let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
            #expect(results.compactMap(\.difference) == [], "\(what), BELFRY_SEED=\(seed)")
            let report = try WhatIf(recorded, WhatIfChange(newFile), registry: .builtIns).run()
            #expect(report.isSame, "\(what), BELFRY_SEED=\(seed)")
        }
        try await expectReplay("before")
        let new = try VirtualPipeline(newFile, folder: old.folder)
        try await new.run(Array(commands[400...]), batchSizes: [], drains: true)
        let history = try SettingsHistory(logDirectory: old.folderOfLogs + "/notifications")
        #expect(history.entries.map { $0.settings.contains(#""policy":"latest""#) } == [false, true])
        try await expectReplay("continued under latest")
    }
}

extension PipelineProcess {
    fileprivate func waitForCoalesce(toTake matches: UInt64) async throws {
        let coalesce = try #require(host("coalesce"))
        try await coalesce.wait(for: "\(matches) matches") { $0.taken >= matches }
    }
}
