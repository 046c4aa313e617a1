import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

@testable import BelfryTool

/// `belfry explain` over the logs of real runs.
@Suite struct Explain {
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#

    private static func pipeline(policy: String = "latest") throws -> VirtualPipeline {
        try VirtualPipeline(
            PipelineFile.parse(
                """
                pipeline: explained
                data: /nowhere
                stages:
                  ingest: {}
                  match: {from: ingest}
                  coalesce: {from: match, policy: \(policy), window: 1s, maximumDelay: 3s}
                  payload: {from: coalesce}
                  deliver: {from: payload, transports: {apns: {use: console}}}
                """, file: "explained.yaml"))
    }

    private static func answer(
        _ change: Int, user: String? = nil, device: String? = nil, subscription: String? = nil,
        in pipeline: VirtualPipeline, _ finder: any EventFinder = LogScan()
    ) throws -> ExplainedAnswer {
        let logs = try RecordedLogs(place: pipeline.folderOfLogs)
        let change = try ExplainedChange(UInt64(change), in: logs)
        let subject = try AskedSubject(user: user, device: device, subscriptionID: subscription)
            .resolve(for: change, in: logs, finder)
        return try ExplainedAnswer(change, subject, in: logs, finder)
    }

    private static func run(
        _ commands: [String], policy: String = "latest", drains: Bool = true
    ) async throws -> VirtualPipeline {
        let pipeline = try pipeline(policy: policy)
        var second = 0
        let timed = commands.map { command in
            second += 10
            let time = String(format: "2026-01-01T09:%02d:%02dZ", second / 60, second % 60)
            return command.replacing(#","container""#, with: #","time":"\#(time)","container""#, maxReplacements: 1)
        }
        try await pipeline.live(timed, cuts: [], drains: drains)
        #expect(try pipeline.events(of: "changes").count == commands.count)
        return pipeline
    }

    @Test(arguments: ["latest", "debounce, pendingPerUser: 1", "none"])
    func theAnswerIsWhatTheLogsHoldForEveryChangeAndDeviceOfAStory(_ policy: String) async throws {
        var random = Seeded(Seeded.drawn(for: "explain"))
        let pipeline = try Self.pipeline(policy: policy)
        try await pipeline.live(Story(seed: random.next(), length: 700).commands, cuts: [], drains: true)
        let accepted = try Self.accepted(pipeline)
        let finder = IndexFinder()
        var (yes, no) = (0, 0)
        for (index, event) in try pipeline.events(of: "changes").enumerated()
        where event.contains("record.") && random.below(3) == 0 {
            let (user, device) = ("_u\(random.below(5))", "d\(random.below(3))")
            let answer: ExplainedAnswer
            do { answer = try Self.answer(index + 1, user: user, device: device, in: pipeline) } catch is ToolFailure {
                continue
            }
            let isPushed = accepted.contains("\(index + 1) \(user) \(device)")
            #expect(answer.isPushed == isPushed, "change \(index + 1), \(user), \(device)")
            let found = try Self.answer(index + 1, user: user, device: device, in: pipeline, finder)
            #expect(found.json == answer.json, "the index finds something else")
            let told = answer.explanations
            let isOdd = told.contains { $0.contains(.replayDiffers) || $0.contains(.outcomePending) }
            #expect(!isOdd, "change \(index + 1), \(user), \(device)")
            if isPushed { yes += 1 } else { no += 1 }
        }
        #expect(yes > 10 && no > 10, "\(yes) pushed, \(no) not")
    }

    /// `change user device` of every push that was accepted.
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

    // MARK: One reason after the other

    private static func register(_ device: String, of user: String = "_a", token: String? = nil) -> String {
        let address = #""transport":"apns","token":"\#(token ?? user + device)","topic":"com.example.Notes""#
        return #"{"type":"device.register",\#(place),"user":"\#(user)","device":"\#(device)",\#(address)}"#
    }

    private static func save(
        _ id: String, stars: Int = 1, of user: String = "_a", once: Bool = false, collapses: Bool = false
    ) -> String {
        let info = collapses ? #"{"alertBody":"A","collapseIDKey":"c"}"# : #"{"alertBody":"A"}"#
        return #"{"type":"subscription.save",\#(place),"database":"public","user":"\#(user)","subscription":"#
            + #"{"subscriptionID":"\#(id)","subscriptionType":"query","query":{"recordType":"Note","#
            + #""predicate":"stars > \#(stars)"},"firesOn":["create","update"],"firesOnce":\#(once),"notificationInfo":\#(info)}}"#
    }

    private static func note(_ name: String, stars: Int = 5, origin: String? = nil) -> String {
        let origin = origin.map { #""origin":{"user":"_a","device":"\#($0)"},"# } ?? ""
        return #"{"type":"record.save",\#(place),"database":"public",\#(origin)"record":{"recordName":"\#(name)","#
            + #""recordType":"Note","fields":{"stars":{"value":\#(stars),"type":"INT64"}}}}"#
    }

    private static func unregister(_ device: String) -> String {
        #"{"type":"device.unregister",\#(place),"user":"_a","device":"\#(device)"}"#
    }

    private static func delete(_ id: String) -> String {
        #"{"type":"subscription.delete",\#(place),"database":"public","user":"_a","subscriptionID":"\#(id)"}"#
    }

    @Test func subscriptionsThatDidNotCountAreToldApart() async throws {
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

    @Test func devicesThatGotNothingAreToldApart() async throws {
        let pipeline = try await Self.run([
            Self.register("mac"), Self.register("gone"), Self.unregister("gone"), Self.register("old", token: "t"),
            Self.register("new", of: "_b", token: "t"), Self.save("s"), Self.note("n1", origin: "mac"),
            Self.register("late"),
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
        let other = try Self.answer(7, user: "_b", in: pipeline)
        #expect(other.reason.code == .subscriptionNone)
    }

    @Test func whatLeavesEarlySaysWhy() async throws {
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

    @Test func whatWaitsIsToldApartFromWhatIsLost() async throws {
        let pipeline = try await Self.run(
            [Self.register("mac"), Self.save("s", collapses: true), Self.note("n1")], policy: "debounce",
            drains: false)
        let answer = try Self.answer(3, device: "mac", in: pipeline)
        #expect([.notificationHeld, .outcomePending].contains(answer.reason.code), "\(answer.json)")
        #expect(!answer.isPushed)
    }

    @Test func namesThatTheLogDoesNotKnowAreRefusedWithTheNearestOne() async throws {
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
