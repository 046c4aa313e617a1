import BuiltIns
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing

/// Ingest applies the setting `predicates` when a subscription is saved. Later changes of the setting do not affect the
/// subscription.
@Suite struct PredicateSetting {
    private static func file(_ dialect: String) throws -> PipelineFile {
        try PipelineFile.fiveStages(ingest: "predicates: \(dialect)", coalesce: "window: 0s")
    }

    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func subscribe(_ id: String, _ predicate: String) -> String {
        #"{"type":"subscription.save",\#(place),"database":"public","user":"_a","subscription":{"subscriptionID":"\#(id)","#
            + #""subscriptionType":"query","firesOn":["create"],"query":{"recordType":"Note","predicate":"\#(predicate)"}}}"#
    }

    private static func save(_ name: String, _ stars: Int) -> String {
        #"{"type":"record.save","time":"2026-01-01T00:00:0\#(name.dropFirst())Z",\#(place),"database":"public","record":"#
            + #"{"recordName":"\#(name)","recordType":"Note","fields":{"stars":{"value":\#(stars)}}}}"#
    }

    /// Runs with and without snapshots. Without a snapshot, match reads its whole history.
    @Test(arguments: [nil, 1])
    func `a subscription with OR keeps matching after extended predicates are turned off`(snapshotBytes: Int?)
        async throws
    {
        let log = LogSettings(sync: .never, snapshotBytes: snapshotBytes)
        let first = try VirtualPipeline(Self.file("extended"), log: log)
        let either = Self.subscribe("either", "stars == 1 OR stars == 3")
        try await first.run([either, Self.save("n1", 1), Self.save("n2", 2)], batchSizes: [], drains: false) {
            pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "the changes") { $0.taken >= 3 }
        }
        let second = try VirtualPipeline(Self.file("cloudKit"), log: log, folder: first.folder)
        try await second.run([Self.save("n3", 3), Self.save("n4", 4)], batchSizes: [], drains: true)
        let watched = try second.events(of: "matches").filter { $0.contains(#""type":"match""#) }
        #expect(watched.map { $0.firstMatch(of: /"recordName":"([a-z0-9]+)"/).map { String($0.1) } } == ["n1", "n3"])
        for dialect in ["cloudKit", "extended"] {
            let recorded = try RecordedPipeline(Self.file(dialect), logs: second.folderOfLogs)
            let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
            #expect(results.compactMap(\.difference) == [], "\(dialect)")
        }
    }
}
