import BuiltIns
import PipelineKit
import Replay
import Testing

/// Runs `belfry whatif` with nothing changed, and compares its report with the log of outcomes. The report must have no
/// difference, and must count each push that a transport got.
enum WhatIfWithoutChange {
    static func check(_ run: LoggedRun) throws {
        let recorded = try RecordedPipeline(run.file, logs: run.logs)
        let report = try WhatIf(recorded, WhatIfChange(run.file), registry: .builtIns).run()
        #expect(report.isSame, "\(run.name): \(report)")
        let outcomes = try run.events(of: run.log(.outcomes)).filter { $0.type == "outcome" }
        let handedOut = outcomes.filter { !unsent.contains($0.text("outcome")) }
        #expect(report.pushes == handedOut.count, "\(run.name)")
    }

    /// Outcomes of pushes that no transport got. `expired` is missing, because no push expires in these runs.
    private static let unsent = ["no_device", "excluded_origin", "unknown_transport"]
}
