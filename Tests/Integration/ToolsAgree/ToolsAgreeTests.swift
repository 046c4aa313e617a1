import BuiltIns
import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import BelfryTool
@testable import Inspect

/// Compares the results of different tools for the same logs. The logs come from scenarios, random commands and a live
/// pipeline.
///
/// Most tests also let the tools read copies of the logs in which the JSON is formatted differently, as a plugin might
/// write it.
@Suite struct ToolsAgree {
    /// How much a test compares.
    private struct Effort {
        var questionsOneIn = Tier.value(8, full: 1)
        var eventsOneIn = Tier.value(4, full: 1)
        /// One of this many outcomes is exported as a case with `belfry trace --export`, and the case is run. Nil for
        /// logs of a live pipeline, because a case does not repeat the delays of a live stage.
        var casesOneIn: Int? = Tier.value(10, full: 2)
        var states = Tier.value(1, full: 4)
    }

    private static let tour = "quickstart: tour"

    @Test func `tools agree on the scenario tour of the quickstart`() async throws {
        let tour = try #require(try Scenarios.all().first { $0.testDescription == Self.tour })
        try await Self.check(
            tour, Effort(questionsOneIn: Tier.value(6, full: 1), eventsOneIn: Tier.value(4, full: 1), casesOneIn: 1))
    }

    @Test(arguments: try someScenarios(Tier.value(6, full: .max)))
    func `tools agree on a scenario`(_ scenario: Scenarios.Scenario) async throws {
        try await Self.check(scenario, Effort())
    }

    /// Random scenarios, and always the scenarios with a plugin.
    private static func someScenarios(_ count: Int) throws -> [Scenarios.Scenario] {
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
            writer: PushWriter { _ in }, reportLine: { _ in })
        _ = try await run.run()
        try await check(LoggedRun(scenario.testDescription, file, logs: folder.file("logs"), owner: folder), effort)
    }

    /// The logs were made with the machine's clock, batches of any size, and transports that write to files.
    @Test(.full) func `tools agree on logs of a live pipeline`() async throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Logs/v1/live")
        let file = try PipelineFile.load(path: fixture.appending(path: "live.yaml").path, registry: .builtIns)
        let run = LoggedRun("live", file, logs: fixture.appending(path: "logs").path, owner: fixture as NSURL)
        try await Self.check(run, Effort(questionsOneIn: 60, eventsOneIn: 20, casesOneIn: nil))
    }

    @Test func `tools agree on the logs of random commands`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let file = try PipelineFile.fiveStages()
        let pipeline = try VirtualPipeline(file)
        let workload = Workload(seed: random.next(), length: Tier.value(60, full: 150))
        try await pipeline.run(workload.commands, batchSizes: [7, 1, 20, 3], drains: true)
        let run = LoggedRun("random commands", file, logs: pipeline.folderOfLogs, owner: pipeline)
        try await Self.check(run, Effort(questionsOneIn: 40, eventsOneIn: 5, casesOneIn: 40))
    }

    @Test(.enabled(if: Python.hasZeroMQ, "\(Python.missing)"))
    func `tools agree if plugins format JSON differently and drop events`() async throws {
        let folder = try Folder()
        let file = try ReformattingPlugin.pipeline(in: folder)
        let input = try #require(try Scenarios.all().first { $0.testDescription == Self.tour }).input
        _ = try await PipelineRun(
            file, data: folder.path, sources: [InputSource(path: input.path(percentEncoded: false))],
            writer: PushWriter { _ in }, reportLine: { _ in }
        ).run()
        let run = LoggedRun("with plugins", file, logs: folder.file("logs"), owner: folder)
        let named = run.recorded.stages.map(\.logName)
        // Without the pipeline file, tools find the order of the stages in the logs.
        #expect(try RecordedLogs(place: run.logs).stages.map(\.logName) == named)
        #expect(try TracedLog.all(in: run.logs).map(\.name) == named)
        var random = Seeded(Seeded.ofThisRun)
        try ExplainAgainstOutcomes(run, IndexFinder()).check(oneIn: Tier.value(2, full: 1), &random)
        try TraceUpAgainstDown(run).check(oneIn: 1, &random)
        let outcomes = try run.events(of: "outcomes")
        // Without the plugins, the run has 28 outcomes.
        #expect(outcomes.contains { $0.text("outcome") == "accepted" } && outcomes.count < 28)
    }

    @Test func `a redrive does what its preview says`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let workload = TextWorkload(seed: random.next(), length: Tier.value(120, full: 400))
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(coalesce: "policy: none"))
        try await pipeline.run(workload.commands + Self.pushToPager, batchSizes: [9, 2, 30], drains: true)
        let repaired = try PipelineFile.fiveStages(
            coalesce: "policy: none", transports: "{apns: {use: console}, pager: {use: console}}")
        let count = try await RedriveAgainstPreview(repaired, pipeline.folder).check()
        #expect(count > 0)
    }

    /// Commands that lead to a push for a transport that the pipeline does not have.
    private static let pushToPager: [String] = {
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
        for (run, casesFactor) in [(run, 1), (try run.reformatted(seed: random.next()), Tier.value(12, full: 2))] {
            try ExplainAgainstOutcomes(run).check(oneIn: effort.questionsOneIn, &random)
            try TraceUpAgainstDown(run).check(oneIn: effort.eventsOneIn, &random)
            guard run.file.stages.allSatisfy(\.command.isEmpty) else { continue }
            try StateAgainstFold(run).check(atRandomChanges: effort.states, &random)
            try WhatIfWithoutChange.check(run)
            guard let oneIn = effort.casesOneIn else { continue }
            try await CasesAgainstRuns(run).check(oneIn: oneIn * casesFactor, &random)
        }
    }
}
