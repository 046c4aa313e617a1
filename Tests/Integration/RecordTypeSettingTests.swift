import BuiltIns
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

@testable import Inspect

/// Tests replays, `whatif` and explanations with the setting `strictRecordType`.
@Suite struct RecordTypeSetting {
    private static func file(_ strictRecordType: String) throws -> PipelineFile {
        try PipelineFile.fiveStages(
            ingest: "subscriptionsInAnyDatabase: true", match: "strictRecordType: \(strictRecordType)",
            coalesce: "window: 0s")
    }

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static let preparation = [
        #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"notes"}"#,
        #"{"type":"subscription.save",\#(place),"database":"private","user":"_a","subscription":{"subscriptionID":"s","#
            + #""subscriptionType":"database","recordType":"Note","notificationInfo":{"alertBody":"Changed"}}}"#,
    ]

    private static func save(_ type: String, _ name: String) -> String {
        #"{"type":"record.save","time":"2026-01-01T00:00:0\#(name.dropFirst())Z",\#(place),"database":"private","owner":"_a","record":{"recordName":"\#(name)","#
            + #""recordType":"\#(type)","zoneID":{"zoneName":"Work"}}}"#
    }

    /// A pipeline that runs with `narrow` first and with `ignore` later. No subscription is saved again in between.
    private static func runUnderTwoSettings() async throws -> VirtualPipeline {
        let log = LogSettings(sync: .never)
        let first = try VirtualPipeline(file("narrow"), log: log)
        try await first.run(preparation + [save("Task", "t1"), save("Note", "n2")], batchSizes: [], drains: false) {
            pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "the changes") { $0.taken >= 4 }
        }
        let second = try VirtualPipeline(file("ignore"), log: log, folder: first.folder)
        try await second.run([save("Task", "t3"), save("Note", "n4")], batchSizes: [], drains: true)
        return second
    }

    @Test func `another strictRecordType affects only later changes, and the logs can be replayed`() async throws {
        let pipeline = try await Self.runUnderTwoSettings()
        let watched = try pipeline.events(of: "matches").filter { $0.contains(#""type":"match""#) }
        #expect(
            watched.map { $0.firstMatch(of: /"recordName":"([a-z0-9]+)"/).map { String($0.1) } } == ["n2", "t3", "n4"])
        let history = try SettingsHistory(logDirectory: pipeline.folderOfLogs + "/matches")
        #expect(
            history.entries.map(\.settings) == [#"{"strictRecordType":"narrow"}"#, #"{"strictRecordType":"ignore"}"#])
        for value in ["narrow", "ignore"] {
            let recorded = try RecordedPipeline(Self.file(value), logs: pipeline.folderOfLogs)
            let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
            #expect(results.compactMap(\.difference) == [])
        }
    }

    @Test func `whatif shows the effect of another strictRecordType`() async throws {
        let pipeline = try VirtualPipeline(Self.file("narrow"))
        try await pipeline.run(
            Self.preparation + [Self.save("Task", "t1"), Self.save("Note", "n2")], batchSizes: [], drains: true)
        var other = try WhatIfChange(Self.file("narrow"))
        other.file = try Self.file("ignore")
        let report = try WhatIf(
            RecordedPipeline(Self.file("narrow"), logs: pipeline.folderOfLogs), other, registry: .builtIns
        ).run()
        #expect(report.added == 1 && report.removed == 0)
    }

    /// Ingest's setting `subscriptionsInAnyDatabase` is recorded as the string `"true"`, and must be readable as a
    /// boolean.
    @Test func `a change in a folder of logs is explained with the recorded settings`() async throws {
        let pipeline = try VirtualPipeline(Self.file("ignore"))
        try await pipeline.run(Self.preparation + [Self.save("Task", "t1")], batchSizes: [], drains: true)
        let logs = try RecordedLogs(place: pipeline.folderOfLogs)
        let change = try ExplainedChange(3, in: logs)
        let subject = try AskedSubject(user: "_a", device: nil, subscriptionID: nil).resolve(
            for: change, in: logs, LogScan())
        let answer = try ExplainedAnswer(change, subject, in: logs, LogScan())
        #expect(answer.isPushed)
        #expect(answer.explanations.contains { $0.contains(ExplanationCode.recordTypeIgnored) })
        #expect(!answer.explanations.contains { $0.contains(ExplanationCode.replayDiffers) })
        let file = try RecordedFolder(pipeline.folderOfLogs).pipeline()
        #expect(file.stages.count == 5)
    }
}
