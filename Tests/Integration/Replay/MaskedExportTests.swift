import BuiltIns
import Foundation
import PipelineKit
import Replay
import TestSupport
import Testing

@testable import BelfryTool

/// Tests logs that were exported with masked device tokens.
@Suite struct MaskedExportTests {
    @Test func `an export with masked tokens replays without differences`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        let commands = Workload(seed: random.next(), length: 400).commands
        try await pipeline.run(commands, batchSizes: [], drains: true)
        let copy = try pipeline.exportedAndImported(mask: TokenMask().forExport)
        let recorded = try RecordedPipeline(PipelineFile.fiveStages(), logs: copy)
        let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
        #expect(results.compactMap(\.difference).isEmpty)
        #expect(results.count == 5 && results.allSatisfy { $0.events > 0 })
        let export = try String(contentsOfFile: pipeline.folder.path + "/all.ndjson", encoding: .utf8)
        let tokens = Set(commands.compactMap { $0.firstMatch(of: /"token":"([^"]*)"/).map { String($0.1) } })
        #expect(!tokens.isEmpty)
        for token in tokens {
            #expect(!export.contains("\"\(token)\"") && export.contains("\"\(TokenMask.mask(token))\""), "\(token)")
        }
    }
}
