import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import StageTool
import TestSupport
import Testing

@testable import Inspect

/// Tests `belfry explain` with the logs of pipelines.
@Suite struct Explain {
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func pipeline(
        policy: String = "latest", window: String = "1s", maximumDelay: String = "3s"
    ) throws -> VirtualPipeline {
        try VirtualPipeline(
            PipelineFile.fiveStages(coalesce: "policy: \(policy), window: \(window), maximumDelay: \(maximumDelay)"))
    }

    private static func answer(
        _ change: Int, user: String? = nil, device: String? = nil, subscription: String? = nil,
        in pipeline: VirtualPipeline, _ finder: any EventFinder = LogScan()
    ) throws -> ExplainedAnswer {
        try answer(
            change, user: user, device: device, subscription: subscription, inLogs: pipeline.folderOfLogs, finder)
    }

    private static func answer(
        _ change: Int, user: String? = nil, device: String? = nil, subscription: String? = nil,
        inLogs folder: String, _ finder: any EventFinder = LogScan()
    ) throws -> ExplainedAnswer {
        let logs = try RecordedLogs(place: folder)
        let change = try ExplainedChange(UInt64(change), in: logs)
        let subject = try AskedSubject(user: user, device: device, subscriptionID: subscription)
            .resolve(for: change, in: logs, finder)
        return try ExplainedAnswer(change, subject, in: logs, finder)
    }

    private static func run(
        _ commands: [String], policy: String = "latest", drains: Bool = true
    ) async throws -> VirtualPipeline {
        let pipeline = try pipeline(policy: policy)
        try await pipeline.run(timed(commands), batchSizes: [], drains: drains)
        #expect(try pipeline.events(of: "changes").count == commands.count)
        return pipeline
    }

    /// Adds times to commands, ten seconds apart.
    private static func timed(_ commands: [String]) -> [String] {
        commands.enumerated().map { number, command in
            let second = 10 * (number + 1)
            let time = String(format: "2026-01-01T09:%02d:%02dZ", second / 60, second % 60)
            return command.replacing(#","container""#, with: #","time":"\#(time)","container""#, maxReplacements: 1)
        }
    }

    @Test(arguments: Tier.some(of: ["latest", "debounce, pendingPerUser: 1", "none"]))
    func `the answer for a random change and device agrees with the logs`(_ policy: String) async throws {
        var random = Seeded(Seeded.ofThisRun)
        let pipeline = try Self.pipeline(policy: policy)
        let workload = Workload(seed: random.next(), length: Tier.value(450, full: 700))
        try await pipeline.run(workload.commands, batchSizes: [], drains: true)
        let accepted = try Self.accepted(pipeline)
        let finder = IndexFinder()
        var asked = accepted.sorted().filter { _ in random.isOneIn(Tier.value(5, full: 2)) }
        if let one = accepted.min() { asked.append(one) }
        for (index, event) in try pipeline.events(of: "changes").enumerated()
        where event.contains("record.") && random.isOneIn(Tier.value(6, full: 3)) {
            asked.append("\(index + 1) _u\(random.below(5)) d\(random.below(3))")
        }
        var (yes, no) = (0, 0)
        for question in asked {
            let parts = question.split(separator: " ").map(String.init)
            let change = try #require(Int(parts[0]))
            let answer: ExplainedAnswer
            do { answer = try Self.answer(change, user: parts[1], device: parts[2], in: pipeline) } catch is ToolFailure
            {
                #expect(!accepted.contains(question), "no answer for \(question)")
                continue
            }
            let isPushed = accepted.contains(question)
            #expect(answer.isPushed == isPushed, "\(question)")
            let found = try Self.answer(change, user: parts[1], device: parts[2], in: pipeline, finder)
            #expect(found.json == answer.json, "the answer with an index differs")
            let explanations = answer.explanations
            let isUnexpected = explanations.contains { $0.contains(.replayDiffers) || $0.contains(.outcomePending) }
            #expect(!isUnexpected, "\(question)")
            if isPushed { yes += 1 } else { no += 1 }
        }
        #expect(yes > 0 && no > 0, "\(yes) pushed, \(no) not")
    }

    /// A text "change user device" for each accepted outcome and each change that led to it.
    private static func accepted(_ pipeline: VirtualPipeline) throws -> Set<String> {
        var found: Set<String> = []
        var parser = JSONParser()
        for line in try pipeline.events(of: "outcomes") where line.contains(#""outcome":"accepted""#) {
            try Array(line.utf8).withUnsafeBytes { bytes in
                let json = try parser.parse(bytes)
                for cause in try #require(json["causes"]).elements {
                    let change = cause["sequence"]?.int64 ?? 0
                    found.insert("\(change) \(json["user"]?.string ?? "") \(json["device"]?.string ?? "")")
                }
            }
        }
        return found
    }

    // MARK: Single reasons

    private static func register(_ device: String, of user: String = "_a", token: String? = nil) -> String {
        let address = #""transport":"apns","token":"\#(token ?? user + device)","topic":"com.example.Notes""#
        return #"{"type":"device.register",\#(place),"user":"\#(user)","device":"\#(device)",\#(address)}"#
    }

    private static func save(
        _ id: String, stars: Int = 1, of user: String = "_a", once: Bool = false, collapses: Bool = false
    ) -> String {
        let info = collapses ? #"{"alertBody":"A","collapseIDKey":"c-\#(id)"}"# : #"{"alertBody":"A"}"#
        return #"{"type":"subscription.save",\#(place),"database":"public","user":"\#(user)","subscription":"#
            + #"{"subscriptionID":"\#(id)","subscriptionType":"query","query":{"recordType":"Note","#
            + #""predicate":"stars > \#(stars)"},"firesOn":["create","update"],"firesOnce":\#(once),"notificationInfo":\#(info)}}"#
    }

    private static func note(_ name: String, stars: Int = 5, origin: String? = nil) -> String {
        let origin = origin.map { #""origin":{"user":"_a","device":"\#($0)"},"# } ?? ""
        return #"{"type":"record.save",\#(place),"database":"public",\#(origin)"record":{"recordName":"\#(name)","#
            + #""recordType":"Note","fields":{"stars":{"value":\#(stars),"type":"INT64"}}}}"#
    }

    @Test func `a device that registers after a change, but with the same time, counts as not registered yet`()
        async throws
    {
        let commands = [Self.save("feed"), Self.note("n1"), Self.register("mac")].map {
            $0.replacing(
                #","container""#, with: #","time":"2026-01-01T09:00:00Z","container""#, maxReplacements: 1)
        }
        let pipeline = try Self.pipeline(policy: "latest")
        try await pipeline.run(commands, batchSizes: [], drains: true)
        let answer = try Self.answer(2, user: "_a", device: "mac", in: pipeline)
        #expect(answer.reason.code == .deviceNotRegisteredYet, "\(answer.verdict)")
    }

    private static func unregister(_ device: String) -> String {
        #"{"type":"device.unregister",\#(place),"user":"_a","device":"\#(device)"}"#
    }

    private static func delete(_ id: String) -> String {
        #"{"type":"subscription.delete",\#(place),"database":"public","user":"_a","subscriptionID":"\#(id)"}"#
    }

    @Test func `the code of an answer says why a subscription led to no push`() async throws {
        let pipeline = try await Self.run([
            Self.register("mac"), Self.save("once", once: true), Self.save("gone"), Self.delete("gone"),
            Self.save("twice", stars: 9), Self.save("twice", stars: 7), Self.note("n1"), Self.note("n2"),
            Self.save("late"), Self.note("n3", stars: 8),
        ])
        func code(_ subscription: String, _ change: Int = 8) throws -> ExplanationCode {
            try Self.answer(change, user: "_a", subscription: subscription, in: pipeline).reason.code
        }
        #expect(try code("once", 7) == .transportAccepted)
        #expect(try code("once") == .firesOnceSpent)
        #expect(try code("gone") == .subscriptionDeleted)
        #expect(try code("late") == .subscriptionSavedLater)
        #expect(try code("late", 10) == .transportAccepted)
        #expect(try code("twice") == .clauseFalse)
        let twice = try Self.answer(10, user: "_a", subscription: "twice", in: pipeline)
        #expect(twice.isPushed)
        #expect(twice.explanations.first?.parts.first?.code == .subscriptionReplaced)
        let all = try Self.answer(8, device: "mac", in: pipeline)
        #expect(all.reason.code == .subscriptionNotMatched)
        #expect(all.explanations.last?.code == .changeUnmatched)
        #expect(try Self.answer(1, user: "_a", in: pipeline).reason.code == .changeNotARecord)
    }

    @Test func `a subscription that did not fire is explained by the comparison that failed`() async throws {
        let pipeline = try VirtualPipeline(
            PipelineFile.fiveStages(ingest: "predicates: extended", coalesce: "window: 0s"))
        let subscription = Self.save("s").replacing("stars > 1", with: "(stars > 3 OR stars < 1) AND kind == 'fruit'")
        try await pipeline.run(
            Self.timed([Self.register("mac"), subscription, Self.note("n1")]), batchSizes: [], drains: true)
        let answer = try Self.answer(3, user: "_a", subscription: "s", in: pipeline)
        #expect(answer.reason.code == .clauseFieldMissing, "\(answer.verdict)")
        #expect(answer.explanations.first?.parts.contains { $0.code == .conditionTrue } == true)
    }

    @Test func `the code of an answer says why a device got no push`() async throws {
        let pipeline = try await Self.run([
            Self.register("mac"), Self.register("gone"), Self.unregister("gone"), Self.register("old", token: "t"),
            Self.register("new", of: "_b", token: "t"), Self.save("s"), Self.note("n1", origin: "mac"),
            Self.register("late"), Self.unregister("ghost"),
        ])
        func code(_ device: String) throws -> ExplanationCode {
            let answer = try Self.answer(7, user: "_a", device: device, in: pipeline)
            #expect(!answer.isPushed)
            return answer.reason.code
        }
        #expect(try code("mac") == .originExcluded)
        #expect(try code("gone") == .deviceUnregistered)
        #expect(try code("old") == .deviceReplaced)
        #expect(try code("late") == .deviceNotRegisteredYet)
        #expect(try code("ghost") == .deviceNone)
        let ghost = try Self.answer(7, user: "_a", device: "ghost", in: pipeline)
        #expect(ghost.verdict == "not pushed to ghost: ghost was never registered")
        let other = try Self.answer(7, user: "_b", in: pipeline)
        #expect(other.reason.code == .subscriptionNone)
    }

    @Test(
        .enabled(if: Python.hasZeroMQ, "\(Python.missing)"),
        arguments: [
            ("device.register", "coalesce", "plugin did not pass on the registration of mac"),
            ("subscription.save", "match", "the plugin stage plugin before match may have dropped or changed an event"),
            ("record.save", "match", "the plugin stage plugin before match"),
        ])
    func `an answer names the plugin that dropped an event`(type: String, stage: String, text: String) async throws {
        let folder = try Folder()
        let pipeline = try VirtualPipeline(ReformattingPlugin.pipeline(dropping: type, before: stage, in: folder))
        let commands = [Self.register("mac"), Self.save("s"), Self.note("n1")]
        try await pipeline.run(commands, batchSizes: [], drains: true)
        let answer = try Self.answer(3, user: "_a", device: "mac", in: pipeline)
        #expect(!answer.isPushed && answer.verdict.contains(text), "\(answer.verdict)")
        if stage == "coalesce" { #expect(answer.reason.code == .stageDropped) }
    }

    @Test func `an explanation treats names that look alike as different names`() async throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let pipeline = try await Self.run([
            Self.register(composed, token: "1"), Self.register(decomposed, token: "2"), Self.save(composed),
            Self.save(decomposed, stars: 9, once: true), Self.note("n1", origin: composed), Self.note("n2", stars: 10),
            Self.note("n3", stars: 10), Self.unregister(decomposed), Self.note("n4", stars: 10),
        ])
        for finder in [LogScan(), IndexFinder()] as [any EventFinder] {
            func answer(_ change: Int, device: String? = nil, subscription: String? = nil) throws -> ExplainedAnswer {
                try Self.answer(
                    change, user: "_a", device: device, subscription: subscription, in: pipeline, finder)
            }
            #expect(try answer(5, device: composed).reason.code == .originExcluded)
            #expect(try answer(5, device: decomposed).isPushed)
            #expect(try answer(5, subscription: composed).isPushed)
            #expect(try answer(5, subscription: decomposed).reason.code == .clauseFalse)
            #expect(try answer(6, subscription: decomposed).isPushed)
            #expect(try answer(7, subscription: decomposed).reason.code == .firesOnceSpent)
            #expect(try answer(7, subscription: composed).isPushed)
            #expect(try answer(9, device: decomposed).reason.code == .deviceUnregistered)
            let both = try answer(5)
            #expect(both.devices.map(\.name) == [ExactText(decomposed), ExactText(composed)])
            #expect(both.devices.map(\.isPushed) == [true, false])
            #expect(both.explanations.count == 2 && !both.explanations.contains { $0.contains(.replayDiffers) })
        }
    }

    @Test func `a device whose name is escaped in JSON is explained once`() async throws {
        let pipeline = try await Self.run([Self.register(#"a\"b"#), Self.save("s"), Self.note("n1")])
        let answer = try Self.answer(3, user: "_a", in: pipeline)
        #expect(answer.isPushed && answer.explanations.count == 1, "\(answer.json)")
    }

    /// An explanation of all subscriptions of a user follows their matches from log to log together. An explanation of
    /// one subscription follows only its own match.
    @Test func `the explanation of a subscription is the same alone and among all subscriptions of its user`()
        async throws
    {
        var random = Seeded(Seeded.ofThisRun)
        let ids = (0..<24).map { "s\($0)" }
        var commands = [Self.register("mac"), Self.register("phone")]
        commands += ids.enumerated().map { number, id in
            Self.save(id, stars: number % 5, once: number % 3 == 0, collapses: number % 4 == 1)
        }
        for number in 0..<40 {
            let origin = random.isOneIn(3) ? "mac" : nil
            commands.append(Self.note("n\(number)", stars: random.below(7), origin: origin))
        }
        let pipeline = try Self.pipeline(window: "25s", maximumDelay: "60s")
        try await pipeline.run(Self.timed(commands), batchSizes: [], drains: true)
        let notifications = try pipeline.events(of: "notifications")
        var (replaced, spent) = (0, 0)
        for change in stride(from: 27, through: 66, by: Tier.value(3, full: 1)) {
            let all = try Self.answer(change, user: "_a", in: pipeline)
            for id in ids {
                let one = try Self.answer(change, user: "_a", subscription: id, in: pipeline)
                let explanation = try #require(one.explanations.first { $0.detail("subscriptionID") == "\"\(id)\"" })
                #expect(all.explanations.contains(explanation), "change \(change), \(id)")
                #expect(!explanation.contains(.replayDiffers) && !explanation.contains(.outcomePending))
                let made = explanation.parts.first { $0.code == .notificationMade }?.detail("sequence")
                    .flatMap { Int($0) }
                #expect(made.map { notifications[$0 - 1].contains("\"subscriptionID\":\"\(id)\"") } != false, "\(id)")
                replaced += explanation.contains(.coalescedInto) ? 1 : 0
                spent += explanation.contains(.firesOnceSpent) ? 1 : 0
            }
        }
        #expect(replaced > 0 && spent > 0, "\(replaced) replaced, \(spent) spent")
    }

    @Test func `the explanation says why a notification was sent before its window ended`() async throws {
        let pipeline = try await Self.run(
            [
                Self.register("mac"), Self.save("s", collapses: true),
                Self.save("t").replacing(#""alertBody":"A""#, with: ""),
                Self.note("n1"), Self.note("n2"),
            ], policy: "debounce, pendingPerUser: 1, atLimit: flush-oldest")
        let early = try Self.answer(4, subscription: "s", in: pipeline)
        #expect(early.isPushed && early.explanations.contains { $0.contains(.notificationFlushed) }, "\(early.json)")
        let later = try Self.answer(5, subscription: "t", in: pipeline)
        #expect(later.isPushed && !later.explanations.contains { $0.contains(.notificationFlushed) }, "\(later.json)")
    }

    @Test func `a notification that was not sent yet is explained as held or pending`() async throws {
        let pipeline = try await Self.run(
            [Self.register("mac"), Self.save("s", collapses: true), Self.note("n1")], policy: "debounce",
            drains: false)
        let answer = try Self.answer(3, device: "mac", in: pipeline)
        #expect([.notificationHeld, .outcomePending].contains(answer.reason.code), "\(answer.json)")
        #expect(!answer.isPushed)
    }

    @Test func `an explanation says that a missing event may be among the changes removed by retention`() async throws {
        let commands = [
            Self.register("mac"), Self.save("feed"), Self.register("pad", of: "_b"), Self.note("n1"),
            Self.save("late", of: "_b"), Self.note("n2"),
        ]
        let pipeline = try Self.pipeline()
        try await pipeline.run(Self.timed(commands), batchSizes: [], drains: true)
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        try logs.trim("changes", before: 4)
        func answer(_ user: String, subscription: String? = nil, device: String? = nil) throws -> ExplainedAnswer {
            try Self.answer(4, user: user, device: device, subscription: subscription, inLogs: logs.path)
        }
        for pushed in [try answer("_a"), try answer("_a", subscription: "feed"), try answer("_a", device: "mac")] {
            #expect(pushed.isPushed, "\(pushed.json)")
            #expect(!pushed.explanations.contains { $0.contains(.replayDiffers) }, "\(pushed.json)")
        }
        let unknown = try answer("_a", subscription: "x")
        #expect(unknown.reason.text == "_a saved a subscription \"x\" before the first change in the log, or never")
        let late = try answer("_b", subscription: "late")
        #expect(late.reason.code == .subscriptionSavedLater)
        #expect(late.reason.text.hasSuffix("unless it was saved before the first change in the log"))
        #expect(throws: ToolFailure.self) { try answer("_c") }
    }

    @Test func `for a user with only a badge, the error says no device or subscription exists, and suggests no name`()
        async throws
    {
        let pipeline = try await Self.run([
            Self.register("mac"), Self.save("feed"),
            #"{"type":"badge.set",\#(Self.place),"user":"_only_badge","badge":1}"#, Self.note("n1"),
        ])
        let failure = #expect(throws: ToolFailure.self) { try Self.answer(4, user: "_only_badge", in: pipeline) }
        #expect(failure?.status == .noInput)
        #expect(failure?.message == "the log contains no device or subscription of user _only_badge")
    }

    @Test func `an unknown change and an unknown or ambiguous name are rejected, and a similar name is suggested`()
        async throws
    {
        let pipeline = try await Self.run([
            Self.register("alice-mac"), Self.save("feed"), Self.register("alice-mac", of: "_b"), Self.note("n"),
        ])
        func failure(_ body: () throws -> ExplainedAnswer) throws -> ToolFailure? {
            do {
                _ = try body()
                return nil
            } catch let failure as ToolFailure { return failure }
        }
        let device = try failure { try Self.answer(4, device: "alice-mc", in: pipeline) }
        #expect(device?.status == .noInput && device?.message.hasSuffix(#"did you mean "alice-mac"?"#) == true)
        let user = try failure { try Self.answer(4, user: "_c", in: pipeline) }
        #expect(user?.status == .noInput)
        let subscription = try failure { try Self.answer(4, subscription: "fed", in: pipeline) }
        #expect(subscription?.message.hasSuffix(#"did you mean "feed"?"#) == true)
        let twoUsers = try failure { try Self.answer(4, device: "alice-mac", in: pipeline) }
        #expect(twoUsers?.status == .usage)
        let beyond = try failure { try Self.answer(5, user: "_a", in: pipeline) }
        #expect(beyond?.status == .noInput && beyond?.message.contains("1 to 4") == true)
    }
}
