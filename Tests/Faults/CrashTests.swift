import BuiltIns
import EventLog
import Events
import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import TestSupport
import Testing
import Time
import ZeroMQ

@testable import BelfryTool
@testable import Inspect

/// Tests a stage that traps on an event. After three crashes of its process, the pipeline continues without that event.
@Suite(.timeLimit(.minutes(5))) struct CrashTests {
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    /// Commands that register a device, save a subscription, and save records with these names.
    private static func commands(_ names: [String]) -> [String] {
        [
            #"{"type":"device.register",\#(place),"user":"_a","device":"phone","transport":"apns","token":"01","topic":"t"}"#,
            #"{"type":"subscription.save",\#(place),"database":"private","user":"_a","subscription":{"subscriptionID":"s","#
                + #""subscriptionType":"zone","zoneID":{"zoneName":"Notes"},"notificationInfo":{"alertBody":"A note"}}}"#,
        ]
            + names.map {
                #"{"type":"record.save",\#(place),"database":"private","owner":"_a","record":{"recordName":"\#($0)","#
                    + #""recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_a"}}}"#
            }
    }

    /// Saves records with these names while only ingest runs. Then starts a process with all stages three times for
    /// each record whose name begins with `poison`. The process crashes each time.
    private static func stagesAfterCrashes(
        savingRecords names: [String], snapshotBytes: String
    ) async throws -> SeparateStages {
        let stages = try SeparateStages(try Folder(), snapshotBytes: snapshotBytes)
        try await stages.send(commands(names))
        for _ in 0..<3 * names.count(where: { $0.hasPrefix("poison") }) {
            Cost.spend(.processes)
            await #expect(processExitsWith: .failure) {
                [folder = stages.folder.path as String, snapshotBytes = snapshotBytes as String] in
                try await SeparateStages(at: folder, snapshotBytes: snapshotBytes).run(untilOutcomes: .max)
            }
        }
        return stages
    }

    @Test(arguments: ["64 MiB", "4 KiB"])
    func `an event that a stage crashed on three times is set aside`(snapshotBytes: String) async throws {
        let stages = try await Self.stagesAfterCrashes(
            savingRecords: ["n1", "n2", "poison", "n3"], snapshotBytes: snapshotBytes)
        try await stages.run(untilOutcomes: 3)
        let letters = try stages.events(of: "matches.dead-letters")
        #expect(letters.count == 1)
        let letter = try #require(letters.first)
        #expect(
            letter.hasPrefix(
                #"{"type":"dead_letter","stage":"match","log":"changes","sequence":5,"code":"stage.crashed""#))
        #expect(letter.contains("the stage crashed three times on this event"), "\(letter)")
        // When the stages start again, match rebuilds its state without the event, and the next event passes.
        try await stages.send(Self.commands(["n4"]))
        try await stages.run(untilOutcomes: 4)
        #expect(try stages.events(of: "matches.dead-letters").count == 1)
        try await stages.checkThatToolsAgree(setAside: 5)
    }

    @Test func `two events that a stage crashes on are set aside one after the other`() async throws {
        let stages = try await Self.stagesAfterCrashes(
            savingRecords: ["poison1", "n1", "poison2", "n2"], snapshotBytes: "64 MiB")
        try await stages.run(untilOutcomes: 2)
        let letters = try stages.events(of: "matches.dead-letters")
        #expect(letters.count == 2 && letters[0].contains(#""sequence":3,"#) && letters[1].contains(#""sequence":5,"#))
        try await stages.checkThatToolsAgree(setAside: 3)
        try await stages.checkThatToolsAgree(setAside: 5)
    }

    /// Makes impossible logs: match's log records that an event was set aside, but the dead letter is missing.
    @Test func `a replay reports a missing dead letter of an event that was set aside`() async throws {
        let stages = try await Self.stagesAfterCrashes(savingRecords: ["n1", "poison"], snapshotBytes: "64 MiB")
        try await stages.run(untilOutcomes: 1)
        try await stages.runRepeatedly(until: { try stages.events(of: "matches.dead-letters").count == 1 })
        try FileManager.default.removeItem(atPath: stages.logs + "/matches.dead-letters")
        let differences = try await stages.replay().compactMap(\.difference)
        #expect(differences.map(\.log) == ["matches.dead-letters"])
    }

    /// Tools must not process an event that may have crashed the stage, because it would crash the tools, too.
    @Test func `a replay skips events that the stage may just have crashed on`() async throws {
        let stages = try SeparateStages(try Folder(), snapshotBytes: "64 MiB")
        try await stages.send(Self.commands(["n1"]))
        try await stages.run(untilOutcomes: 1)
        try await stages.send(Self.commands(["poison", "n2"]))
        Cost.spend(.processes)
        await #expect(processExitsWith: .failure) { [folder = stages.folder.path as String] in
            try await SeparateStages(at: folder, snapshotBytes: "64 MiB").run(untilOutcomes: .max)
        }
        let match = try #require(try await stages.replay().first { $0.stage == "match" })
        #expect(match.difference == nil && match.unprocessed >= 2, "\(match)")
        let state = PipelineState(try stages.recorded(), MachineFactory(registry: .trapping))
        #expect(try state.lines("subscriptions", at: .end)?.contains(#""subscriptionID":"s""#) == true)
    }
}

/// The five stages, each with a host of its own, as if it had its own process. Match traps on records whose names begin
/// with `poison`.
private final class SeparateStages: Sendable {
    let folder: Folder
    let logs: String
    private let file: PipelineFile

    init(_ folder: Folder, snapshotBytes: String) throws {
        (self.folder, logs) = (folder, folder.path + "/data/logs")
        try FileManager.default.createDirectory(atPath: folder.file("data"), withIntermediateDirectories: true)
        try folder.write(Self.yaml(snapshotBytes), to: "pipeline.yaml")
        file = try PipelineFile.load(path: folder.file("pipeline.yaml"), registry: .builtIns)
    }

    /// Uses an existing folder and does not remove it. The process that crashes uses the folder that the test's process
    /// made. The test's process removes it.
    convenience init(at path: String, snapshotBytes: String) throws {
        try self.init(Folder(existing: path), snapshotBytes: snapshotBytes)
    }

    private static func yaml(_ snapshotBytes: String) -> String {
        """
        pipeline: crashes
        data: data
        log: {sync: never, snapshotBytes: \(snapshotBytes)}
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match, window: 0s}
          payload: {from: coalesce}
          deliver: {from: payload, transports: {apns: {use: file, path: pushes.ndjson}}}
        """
    }

    private func host(_ stage: PipelineStage, _ context: HostContext) throws -> StageHost {
        try StageHost(stage, of: file, in: HostSurroundings(registry: .trapping, context: context))
    }

    /// Sends commands to ingest, while no other stage runs.
    func send(_ commands: [String]) async throws {
        let context = try HostContext()
        defer { context.shutdown() }
        let ingest = try host(file.sourceStage, context)
        async let running: Void = ingest.run()
        defer { ingest.control.stop() }
        try await ingest.wait(for: "ingest runs") { $0.phase == .running }
        try await SocketThread.run(name: "producer") {
            let producer = try Producer(
                ToolSocket.make(ingest.plan, context), endpoint: ingest.plan.door ?? "", name: "test",
                secret: "the secret of this test")
            _ = try producer.greet(timeout: .seconds(30))
            try producer.send(Array((commands.joined(separator: "\n") + "\n").utf8), count: commands.count)
            while !producer.isDone { try producer.pump(wait: .milliseconds(100)) }
        }
        ingest.control.stop()
        try await running
    }

    /// Runs all stages until deliver's log has `count` events.
    func run(untilOutcomes count: UInt64) async throws {
        let context = try HostContext()
        defer { context.shutdown() }
        let hosts = try file.stagesInOrder.map { try host($0, context) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for host in hosts { group.addTask { try await host.run() } }
            defer { for host in hosts { host.control.stop() } }
            try await hosts[4].wait(for: "\(count) outcomes") { $0.last >= count }
            for host in hosts { host.control.stop() }
            try await group.waitForAll()
        }
    }

    /// Runs all stages again and again until a condition is met.
    func runRepeatedly(until isMet: @Sendable () throws -> Bool) async throws {
        let limit = ContinuousClock.now + .seconds(30)
        while try !isMet() {
            guard .now < limit else { throw WaitFailure("the condition was not met within 30 s") }
            try await run(untilOutcomes: 1)
        }
    }

    func events(of log: String) throws -> [String] {
        let reader = try EventLogReader(directory: logs + "/" + log, from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            events += String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        return events
    }

    func recorded() throws -> RecordedPipeline { try RecordedPipeline(file, logs: logs) }

    func replay() async throws -> [PipelineReplay.StageResult] {
        try await PipelineReplay(try recorded(), MachineFactory(registry: .trapping)).run()
    }

    /// Checks that replay, `log verify`, explain, the state and what-if agree that an event was set aside.
    func checkThatToolsAgree(setAside sequence: UInt64) async throws {
        #expect(try await replay().compactMap(\.difference) == [])
        #expect(try SetAsideEvents.of(log: logs + "/matches").contains(sequence))
        for log in ["changes", "matches", "matches.dead-letters"] {
            let report = try EventLogs.verify(directory: logs + "/" + log, checks: LogChecks.all)
            #expect(report.problems.isEmpty && report.notes.isEmpty, "\(report)")
        }
        let recorded = try RecordedLogs(place: logs)
        let change = try ExplainedChange(sequence, in: recorded)
        let subject = try AskedSubject(user: "_a", device: "phone", subscriptionID: nil)
            .resolve(for: change, in: recorded, LogScan())
        let answer = try ExplainedAnswer(change, subject, in: recorded, LogScan())
        #expect(!answer.isPushed && answer.reason.code == .changeRefused)
        let verdict = answer.verdict
        #expect(verdict.contains("match set it aside: the stage crashed three times on this event"), "\(verdict)")
        let state = PipelineState(try self.recorded(), MachineFactory(registry: .trapping))
        #expect(try state.lines("subscriptions", at: .end)?.contains(#""subscriptionID":"s""#) == true)
        let same = try WhatIf(try self.recorded(), WhatIfChange(file), registry: .trapping).run()
        #expect(same.isSame && same.pushes > 0, "\(same)")
    }
}

/// A stage that traps on records whose names begin with `poison`.
private struct TrappingStage<Wrapped: Stage>: Stage {
    static var kind: String { Wrapped.kind }
    static var writes: LogKind? { Wrapped.writes }
    static var snapshotVersion: Int? { Wrapped.snapshotVersion }
    static var stateName: String? { Wrapped.stateName }
    private var stage: Wrapped

    init(_ settings: Wrapped.Settings, context: StageContext) throws(SettingsError) {
        stage = try Wrapped(settings, context: context)
    }

    var deadline: Instant? { stage.deadline }

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        let name = event.json["record"]?["recordName"]?.string ?? ""
        precondition(!name.hasPrefix("poison"), "a bug")
        stage.receive(event, at: now, into: &out)
    }

    mutating func wake(at now: Instant, into out: inout Outbox) { stage.wake(at: now, into: &out) }
    var isUnfinished: Bool { stage.isUnfinished }
    mutating func proceed(at now: Instant, into out: inout Outbox) { stage.proceed(at: now, into: &out) }
    func snapshot(into snapshot: inout SnapshotWriter) { stage.snapshot(into: &snapshot) }
    func writeState(into lines: inout ByteBuffer) { stage.writeState(into: &lines) }
    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        try stage.restore(from: &snapshot)
    }
}

extension Registry {
    /// Belfry's stages, with a match that traps.
    fileprivate static var trapping: Registry {
        var registry = Registry()
        for (kind, type) in builtIns.stages {
            if kind == "match" { registry.registerTrapping(type) } else { registry.register(type) }
        }
        for type in builtIns.transports.values { registry.register(type) }
        for type in builtIns.policies.values { registry.register(type) }
        return registry
    }

    private mutating func registerTrapping<S: Stage>(_ type: S.Type) { register(TrappingStage<S>.self) }
}
