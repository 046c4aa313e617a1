import PipelineKit
import TestSupport
import Testing

@testable import Inspect

/// `belfry dead-letters redrive` does what its preview says: each letter that it names comes to one outcome more, no other
/// does, and behind it there is nothing left to redrive.
struct RedriveAgainstPreview {
    private let file: PipelineFile
    private let pipeline: VirtualPipeline

    /// - Parameters:
    ///   - file: In which what failed is mended.
    ///   - folder: With the logs of the pipeline that failed.
    init(_ file: PipelineFile, _ folder: Folder) throws {
        self.file = file
        pipeline = try VirtualPipeline(file, folder: folder)
    }

    private var run: LoggedRun { LoggedRun("redriven", file, logs: pipeline.folderOfLogs, owner: pipeline) }

    /// - Returns: How many were redriven.
    func check() async throws -> Int {
        let plan = try Self.plan(run)
        try Self.checkInOtherWords(plan, try run.respelt(seed: Seeded.ofThisRun))
        let commands = RedriveCommands(folder: run.logs, now: .epoch)
        let lines = try plan.selected.map { String(decoding: try commands.command($0.letter), as: UTF8.self) }
        let before = try run.events(of: "outcomes").count
        try await pipeline.live(lines, cuts: [], drains: true)
        let redriven = try run.events(of: "outcomes").dropFirst(before).filter { $0.json["redriveOf"] != nil }
        let told = redriven.map { event in
            let place = event.json["redriveOf"] as? [String: Any]
            return "\(place?["log"] ?? ""):\(place?["sequence"] ?? "") \(event.text("user")) \(event.text("device"))"
        }
        let announced = plan.selected.map(\.letter).filter(\.isPush).map { letter in
            "\(letter.subject) \(letter.user?.string ?? "") \(letter.device?.string ?? "")"
        }
        #expect(told.sorted() == announced.sorted())
        #expect(redriven.allSatisfy { $0.text("outcome") == "accepted" })
        #expect(try Self.plan(run).redrivable == 0)
        return announced.count
    }

    private static func plan(_ run: LoggedRun) throws -> RedrivePlan {
        let found = try DeadLetters(run.recorded, LetterFilter(), RedriveEligibility(now: .epoch))
        return RedrivePlan(found, limit: .max)
    }

    private static func checkInOtherWords(_ plan: RedrivePlan, _ respelt: LoggedRun) throws {
        func story(_ plan: RedrivePlan) -> [String] {
            plan.found.letters.map { "\($0.letter.place) \($0.letter.subject) \($0.verdict)" }
        }
        #expect(try story(Self.plan(respelt)) == story(plan))
    }
}
