import PipelineKit
import TestSupport
import Testing

@testable import Inspect

/// Checks that `belfry dead-letters redrive` sends exactly the pushes in its preview, that the transports accept all of
/// them, and that nothing is left to redrive after that.
struct RedriveAgainstPreview {
    private let file: PipelineFile
    private let pipeline: VirtualPipeline

    /// - Parameters:
    ///   - file: The pipeline file without the fault that made pushes fail.
    ///   - folder: The folder of the pipeline whose pushes failed.
    init(_ file: PipelineFile, _ folder: Folder) throws {
        self.file = file
        pipeline = try VirtualPipeline(file, folder: folder)
    }

    private var run: LoggedRun { LoggedRun("redriven", file, logs: pipeline.folderOfLogs, owner: pipeline) }

    /// - Returns: The number of redriven pushes.
    func check() async throws -> Int {
        let plan = try Self.plan(run)
        try Self.checkSamePlan(plan, for: try run.reformatted(seed: Seeded.ofThisRun))
        let commands = RedriveCommands(folder: run.logs, now: .epoch)
        let lines = try plan.selected.map { String(decoding: try commands.command($0.letter), as: UTF8.self) }
        let before = try run.events(of: "outcomes").count
        try await pipeline.run(lines, batchSizes: [], drains: true)
        let redriven = try run.events(of: "outcomes").dropFirst(before).filter { $0.json["redriveOf"] != nil }
        let redrivenPushes = redriven.map { event in
            let place = event.json["redriveOf"] as? [String: Any]
            return "\(place?["log"] ?? ""):\(place?["sequence"] ?? "") \(event.text("user")) \(event.text("device"))"
        }
        let previewed = plan.selected.map(\.letter).filter(\.isPush).map { letter in
            "\(letter.source) \(letter.user?.string ?? "") \(letter.device?.string ?? "")"
        }
        #expect(redrivenPushes.sorted() == previewed.sorted())
        #expect(redriven.allSatisfy { $0.text("outcome") == "accepted" })
        #expect(try Self.plan(run).redrivableCount == 0)
        return previewed.count
    }

    private static func plan(_ run: LoggedRun) throws -> RedrivePlan {
        let found = try DeadLetters(run.recorded, DeadLetterFilter(), RedriveEligibility(now: .epoch))
        return RedrivePlan(found, limit: .max)
    }

    private static func checkSamePlan(_ plan: RedrivePlan, for reformatted: LoggedRun) throws {
        func text(_ plan: RedrivePlan) -> [String] {
            plan.found.letters.map { "\($0.letter.place) \($0.letter.source) \($0.verdict)" }
        }
        #expect(try text(Self.plan(reformatted)) == text(plan))
    }
}
