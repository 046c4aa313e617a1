import BuiltIns
import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import BelfryTool
@testable import Inspect

/// Two tools say the same of the same logs. The logs are of the quickstart's run, of scenarios and of drawn stories; each is
/// read as the stages wrote it, and again with its JSON spelt in another way, as a stage in another language might.
@Suite struct ToolsAgree {
    /// How much of what could be asked is asked.
    private struct Effort {
        var questionsOneIn = Tier.rounds(8, full: 1)
        var eventsOneIn = Tier.rounds(4, full: 1)
        /// Nil: what a live stage did late, no case shows again.
        var casesOneIn: Int? = Tier.rounds(10, full: 2)
        var states = Tier.rounds(1, full: 4)
    }

    private static let tour = "quickstart: tour"

    @Test func toolsAgreeOverTheQuickstartsRun() async throws {
        let tour = try #require(try Scenarios.all().first { $0.testDescription == Self.tour })
        try await Self.check(
            tour, Effort(questionsOneIn: Tier.rounds(6, full: 1), eventsOneIn: Tier.rounds(4, full: 1), casesOneIn: 1))
    }

    @Test(arguments: try drawn(Tier.rounds(6, full: .max)))
    func toolsAgreeOverAScenario(_ scenario: Scenarios.Scenario) async throws {
        try await Self.check(scenario, Effort())
    }

    /// Some scenarios, and always the one with a stage in another language.
    private static func drawn(_ count: Int) throws -> [Scenarios.Scenario] {
        var random = Seeded(Seeded.ofThisRun)
        let others = try Scenarios.all().filter { $0.testDescription != tour }
        return others.filter { $0.pipeline == "python-filter" }
            + others.filter { $0.pipeline != "python-filter" }.shuffled(using: &random).prefix(count)
    }

    private static func check(_ scenario: Scenarios.Scenario, _ effort: Effort) async throws {
        let file = try PipelineFile.load(path: scenario.pipelineFile, registry: .builtIns)
        guard file.stages.allSatisfy(\.command.isEmpty) || Python.hasZeroMQ else {
            return print("\(scenario.testDescription): skipped, \(Python.missing)")
        }
        let folder = try Folder()
        let run = PipelineRun(
            file, data: folder.path, sources: [InputSource(path: scenario.input.path(percentEncoded: false))],
            writer: PushWriter { _ in }, complain: { _ in })
        _ = try await run.run()
        try await check(LoggedRun(scenario.testDescription, file, logs: folder.file("logs"), owner: folder), effort)
    }

    /// With a clock of its own, batches that were cut by chance, and a transport that answered.
    @Test(.full) func toolsAgreeOverLogsOfALivePipeline() async throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Logs/v1/live")
        let file = try PipelineFile.load(path: fixture.appending(path: "live.yaml").path, registry: .builtIns)
        let run = LoggedRun("live", file, logs: fixture.appending(path: "logs").path, owner: fixture as NSURL)
        try await Self.check(run, Effort(questionsOneIn: 60, eventsOneIn: 20, casesOneIn: nil))
    }

    @Test func toolsAgreeOverADrawnStory() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let file = try PipelineFile.fiveStages()
        let pipeline = try VirtualPipeline(file)
        let story = Story(seed: random.next(), length: Tier.rounds(60, full: 150))
        try await pipeline.live(story.commands, cuts: [7, 1, 20, 3], drains: true)
        let run = LoggedRun("a story", file, logs: pipeline.folderOfLogs, owner: pipeline)
        try await Self.check(run, Effort(questionsOneIn: 40, eventsOneIn: 5, casesOneIn: 40))
    }

    @Test(.enabled(if: Python.hasZeroMQ, "\(Python.missing)"))
    func toolsAgreeBehindAStageThatWritesJSONInItsOwnWay() async throws {
        let folder = try Folder()
        let file = try RespellingPlugin.pipeline(in: folder)
        let input = try #require(try Scenarios.all().first { $0.testDescription == Self.tour }).input
        _ = try await PipelineRun(
            file, data: folder.path, sources: [InputSource(path: input.path(percentEncoded: false))],
            writer: PushWriter { _ in }, complain: { _ in }
        ).run()
        let run = LoggedRun("behind a plugin", file, logs: folder.file("logs"), owner: folder)
        let named = run.recorded.path.map(\.logName)
        // Without the pipeline's file, the logs themselves tell where the plugins are.
        #expect(try RecordedLogs(place: run.logs).path.map(\.logName) == named)
        #expect(try TracedLog.all(in: run.logs).map(\.name) == named)
        var random = Seeded(Seeded.ofThisRun)
        try ExplainAgainstOutcomes(run, IndexFinder()).check(oneIn: Tier.rounds(2, full: 1), &random)
        try TraceUpAgainstDown(run).check(oneIn: 1, &random)
        let outcomes = try run.events(of: "outcomes")
        #expect(outcomes.contains { $0.text("outcome") == "accepted" } && outcomes.count < 28)
    }

    @Test func aRedriveDoesWhatItsPreviewSays() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let story = CaseStory(seed: random.next(), length: Tier.rounds(120, full: 400))
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(coalesce: "policy: none"))
        try await pipeline.live(story.commands + Self.pageOfZoe, cuts: [9, 2, 30], drains: true)
        let mended = try PipelineFile.fiveStages(
            coalesce: "policy: none", transports: "{apns: {use: console}, pager: {use: console}}")
        let count = try await RedriveAgainstPreview(mended, pipeline.folder).check()
        #expect(count > 0)
    }

    /// A push to a device whose transport the pipeline does not have.
    private static let pageOfZoe: [String] = {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        return [
            #"{"type":"device.register",\#(place),"user":"_zoe","device":"zoe-pager","transport":"pager","token":"7","#
                + #""topic":"com.example.Notes"}"#,
            #"{"type":"subscription.save",\#(place),"database":"public","user":"_zoe","subscription":"#
                + #"{"subscriptionID":"all","subscriptionType":"query","query":{"recordType":"Note"},"#
                + #""firesOn":["create"],"notificationInfo":{"alertBody":"A note"}}}"#,
            #"{"type":"record.save",\#(place),"database":"public","record":{"recordName":"zoes","recordType":"Note"}}"#,
        ]
    }()

    private static func check(_ run: LoggedRun, _ effort: Effort) async throws {
        var random = Seeded(Seeded.ofThisRun)
        for (run, ofCases) in [(run, 1), (try run.respelt(seed: random.next()), Tier.rounds(12, full: 2))] {
            try ExplainAgainstOutcomes(run).check(oneIn: effort.questionsOneIn, &random)
            try TraceUpAgainstDown(run).check(oneIn: effort.eventsOneIn, &random)
            guard run.file.stages.allSatisfy(\.command.isEmpty) else { continue }
            try StateAgainstFold(run).check(effort.states, &random)
            try WhatIfOfNothing.check(run)
            guard let oneIn = effort.casesOneIn else { continue }
            try await CasesAgainstRuns(run).check(oneIn: oneIn * ofCases, &random)
        }
    }
}
