import BuiltIns
import Events
import Foundation
import PipelineKit
import TestSupport
import Testing
import Time

@testable import Inspect

/// Tools find a stage by the kind of its log, not by its name in a pipeline file.
@Suite struct StagesByLogTests {
    private static func file(_ folder: Folder) throws -> PipelineFile {
        var registry = Registry.builtIns
        registry.register(OtherMatch.self)
        return try PipelineFile.parse(
            """
            pipeline: other
            data: \(folder.path)
            stages:
              ingest: {}
              watchers: {stage: other-match, from: ingest}
              plugin: {from: watchers, command: [cat]}
            """, file: "other.yaml", registry: registry)
    }

    @Test func `a stage whose kind is not built in is found by the log that it writes`() throws {
        let folder = try Folder()
        let file = try Self.file(folder)
        for log in ["changes", "matches", "plugin"] {
            let directory = folder.file("logs/\(log)")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data().write(to: URL(fileURLWithPath: directory + "/log.json"))
        }
        let logs = RecordedLogs(file: file, folder: folder.file("logs"))
        #expect(logs.stage(writing: .changes)?.name == "ingest")
        #expect(logs.stage(writing: .matches)?.name == "watchers")
        #expect(logs.existingLog(.matches) == folder.file("logs/matches"))
        #expect(logs.stage(writing: .notifications) == nil)
        let traced = TracedLog.all(of: file, in: folder.file("logs"))
        #expect(traced.map(\.name) == ["changes", "matches", "plugin"])
        #expect(traced.map(\.role) == [.source, .making(.matches), .other])
    }

    @Test func `a log is named after the kind of its events, and a plugin's log after the plugin`() throws {
        let stages = try Self.file(try Folder()).stages
        #expect(stages.map(\.logName) == ["changes", "matches", "plugin"])
        #expect(stages.map(\.writes) == [.changes, .matches, nil])
    }
}

private struct OtherMatch: Stage {
    static let kind = "other-match"
    static let writes: LogKind? = .matches

    init(_ settings: NoSettings, context: StageContext) throws(SettingsError) {}

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) { out.pass(event) }
}
