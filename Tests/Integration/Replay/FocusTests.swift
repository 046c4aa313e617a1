import BuiltIns
import PipelineKit
import Replay
import TestSupport
import Testing

/// Tests replays that compare only the events of one user, subscription or record.
@Suite struct FocusTests {
    private static func replay(_ logs: String, _ focus: ReplayFocus?) async throws -> ReplayDifference? {
        var replay = PipelineReplay(
            try RecordedPipeline(PipelineFile.fiveStages(), logs: logs), MachineFactory(registry: .builtIns))
        replay.focus = focus
        return try await replay.run().compactMap(\.difference).first
    }

    private static func text(_ member: String, of event: String) throws -> String {
        let value = try #require(event.firstRange(of: "\"\(member)\":\""))
        return String(event[value.upperBound...].prefix { $0 != "\"" })
    }

    @Test func `a focused replay finds only differences of its subject`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        try await pipeline.run(Workload(seed: random.next(), length: 500).commands, batchSizes: [], drains: true)
        let events = try pipeline.events(of: "matches")
        let candidates = events.indices.filter { events[$0].hasPrefix(#"{"type":"match""#) }
        try #require(!candidates.isEmpty, "none of \(events.count) events is a match")
        let target = random.one(of: candidates)
        let event = events[target]
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        defer { withExtendedLifetime(logs) {} }
        try logs.rewrite("matches") { sequence, event in
            [sequence == UInt64(target + 1) ? event.replacing(#""change":"#, with: #""change":1"#) : event]
        }
        for (subject, member) in [
            (ReplayFocus.Subject.user, "user"), (.subscription, "subscriptionID"), (.record, "recordName"),
        ] where event.contains("\"\(member)\":\"") {
            let name = try Self.text(member, of: event)
            let found = try #require(try await Self.replay(logs.path, ReplayFocus(subject, name)), "\(subject) \(name)")
            #expect((found.log, found.sequence, found.pointer) == ("matches", UInt64(target + 1), "/change"))
            #expect(found.cause != .unknown)
            #expect(try await Self.replay(logs.path, ReplayFocus(subject, name + "-other")) == nil)
        }
    }

    @Test func `a focus treats names that look alike as different names`() {
        for (subject, member) in [
            (ReplayFocus.Subject.user, "user"), (.subscription, "subscriptionID"), (.record, "recordName"),
        ] {
            let line = Array("{\"type\":\"match\",\"\(member)\":\"caf\u{E9}\"}".utf8)
            #expect(ReplayFocus(subject, "caf\u{E9}").concerns(line))
            #expect(!ReplayFocus(subject, "cafe\u{301}").concerns(line))
        }
    }

    @Test func `a focused replay finds a missing event of its subject`() async throws {
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        try await pipeline.run(Workload(seed: 9, length: 400).commands, batchSizes: [], drains: true)
        let events = try pipeline.events(of: "notifications")
        let target = try #require(events.lastIndex { $0.hasPrefix(#"{"type":"notification""#) })
        let user = try Self.text("user", of: events[target])
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        defer { withExtendedLifetime(logs) {} }
        try logs.rewrite("notifications") { $0 == UInt64(target + 1) ? [] : [$1] }
        var replay = PipelineReplay(
            try RecordedPipeline(PipelineFile.fiveStages(), logs: logs.path), MachineFactory(registry: .builtIns),
            stages: ["coalesce"])
        replay.focus = ReplayFocus(.user, user)
        #expect(try await replay.run().first?.difference != nil)
        replay.focus = ReplayFocus(.user, "_nobody")
        #expect(try await replay.run().first?.difference == nil)
    }
}
