import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

/// Tests that a subscription with `firesOnce` fires once, even if match crashes.
@Suite struct FiresOnce {
    private static let yaml = """
        pipeline: once
        data: /nowhere
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match, window: 0s}
          payload: {from: coalesce}
          deliver: {from: payload, transports: {apns: {use: console}}}
        """

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    /// The notes n1 and n2 do not match. The note n3 makes the subscription fire, and n4 and n5 would match too.
    private static let commands = [
        #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"notes"}"#,
        #"{"type":"subscription.save",\#(place),"database":"public","user":"_a","subscription":{"subscriptionID":"once","#
            + #""subscriptionType":"query","query":{"recordType":"Note","predicate":"stars > 3"},"firesOn":["create"],"#
            + #""firesOnce":true,"notificationInfo":{"alertBody":"Once"}}}"#,
        note("n1", 1), note("n2", 2), note("n3", 4), note("n4", 5), note("n5", 6),
    ]

    private static func note(_ name: String, _ stars: Int) -> String {
        #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"\#(name)","recordType":"Note","#
            + #""fields":{"stars":{"value":\#(stars),"type":"INT64"}}}}"#
    }

    private static func pipeline(in folder: Folder? = nil) throws -> VirtualPipeline {
        // Match makes a snapshot as often as it can, so after a crash it can start with a snapshot.
        try VirtualPipeline(
            PipelineFile.parse(yaml, file: "once.yaml", registry: .builtIns),
            log: LogSettings(sync: .never, snapshotBytes: 1),
            folder: folder)
    }

    /// After `kill -9` a log has only the first bytes that the process wrote, perhaps with a torn batch at the end, and
    /// no snapshot of later events. The test gets the same result by cutting the log of the stage match before, within
    /// and after each batch, also the batch with the event `match`.
    @Test(.timeLimit(.minutes(5)))
    func `a subscription fires only once, even if match crashes before, within or after a batch`() async throws {
        let whole = try Self.pipeline()
        var ends: [Int] = []
        for (index, command) in Self.commands.enumerated() {
            try await whole.run([command], batchSizes: [], drains: index == Self.commands.count - 1) { pipeline in
                let match = try #require(pipeline.host("match"))
                try await match.wait(for: "the change") { $0.taken > index }
            }
            ends.append(try Self.segment(whole.folder).count)
        }
        let expected = try whole.events(of: "matches")
        #expect(expected.filter { $0.contains(#""type":"match""#) }.count == 1)
        #expect(whole.pushes.count == 1 && whole.pushes[0].contains(#""rid":"n3""#))
        #expect(Set(ends).count > 3)
        let torn = stride(from: 1, to: ends.max() ?? 0, by: max(1, (ends.max() ?? 0) / 25))
        for cut in Set(ends + ends.map { $0 - 1 } + torn).sorted() where cut >= 0 {
            try await Self.check(Self.crashed(whole.folder, at: cut), against: whole, "cut at \(cut) of \(ends)")
        }
    }

    private static func check(_ folder: Folder, against whole: VirtualPipeline, _ label: String) async throws {
        let crashed = try pipeline(in: folder)
        try await crashed.run([], batchSizes: [], drains: true)
        #expect(try crashed.events(of: "matches") == whole.events(of: "matches"), "\(label)")
        #expect(crashed.pushes == whole.pushes, "\(label)")
        let recorded = try RecordedPipeline(
            PipelineFile.parse(yaml, file: "once.yaml", registry: .builtIns), logs: crashed.folderOfLogs)
        let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
        #expect(results.compactMap(\.difference) == [], "\(label)")
    }

    /// A copy of the logs in which match has written only `cut` bytes, and no later stage has read them.
    private static func crashed(_ original: Folder, at cut: Int) throws -> Folder {
        let folder = try Folder()
        try FileManager.default.copyItem(atPath: original.file("logs"), toPath: folder.file("logs"))
        for log in ["notifications", "pushes", "outcomes"] {
            try FileManager.default.removeItem(atPath: folder.file("logs/\(log)"))
        }
        try Data(segment(folder).prefix(cut)).write(to: URL(fileURLWithPath: segmentPath(folder)))
        let left = try EventLogReader(directory: folder.file("logs/matches"), from: .beginning)
        var last: UInt64 = 0
        while let batch = try left.next() { last = batch.header.lastSequence }
        for snapshot in try SnapshotStore(logDirectory: folder.file("logs/matches")).list()
        where snapshot.header.map({ $0.sequence > last }) ?? true {
            try FileManager.default.removeItem(atPath: snapshot.path)
        }
        return folder
    }

    private static func segmentPath(_ folder: Folder) -> String {
        folder.file("logs/matches/00000000000000000001.log")
    }

    private static func segment(_ folder: Folder) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: segmentPath(folder)))
    }
}
