import BuiltIns
import EventLog
import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import Replay
import StageTool
import TestSupport
import Testing
import Time

@testable import BelfryTool
@testable import Inspect

/// Tests the cases that `belfry trace --export` makes from the logs of a pipeline. A case is a small set of commands
/// that leads to a recorded result again.
@Suite struct Cases {
    private static func run(_ commands: [String]) async throws -> VirtualPipeline {
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        try await pipeline.run(commands, batchSizes: [], drains: true)
        return pipeline
    }

    private static func export(_ pipeline: VirtualPipeline) throws -> CaseExport { try export(pipeline.folderOfLogs) }

    private static func export(_ folder: String) throws -> CaseExport {
        CaseExport(
            logs: try RecordedLogs(file: PipelineFile.fiveStages(), folder: folder), finder: LogScan(),
            seed: PipelineRun.standardSeed)
    }

    /// Strings that identify people and must not be in a case. Short strings and numbers are left out, because they may
    /// be in a case by chance.
    private static func personalStrings(_ pipeline: VirtualPipeline) throws -> Set<String> {
        var found: Set<String> = []
        for (index, event) in try pipeline.events(of: "changes").enumerated() {
            let event = LoggedEvent(sequence: UInt64(index + 1), now: .epoch, line: Array(event.utf8))
            found.formUnion(try DisguisedTexts(of: [CaseLine(event: event)]).all.map(\.string))
        }
        return found.filter { $0.utf8.count >= 6 && $0.contains(where: \.isLetter) }
    }

    @Test func `a case reproduces the outcome, names no person and has no unnecessary line`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let workload = TextWorkload(seed: random.next(), length: 300)
        let pipeline = try await Self.run(workload.commands)
        let export = try Self.export(pipeline)
        let personalStrings = try Self.personalStrings(pipeline)
        let outcomes = try pipeline.events(of: "outcomes")
        try #require(outcomes.count > 100)
        // Only early outcomes are tried: a badge counts all earlier notifications of its user with `shouldBadge`, so
        // the case of a late outcome would have hundreds of lines to try.
        let tried = outcomes.indices.prefix(Tier.value(80, full: 300))
        let kinds = try Dictionary(grouping: tried) { try Self.kind(outcomes[$0]) }
        try #require(kinds.count >= 2)
        let ofEachKind = kinds.keys.sorted().map { random.one(of: kinds[$0] ?? []) }
        for number in ofEachKind + (0..<Tier.value(2, full: 5)).map({ _ in random.below(tried.count) }) {
            let made = try export.make(.outcome(UInt64(number + 1)))
            let kind = try Self.kind(outcomes[number])
            try await check(made, personalStrings, "outcome \(number + 1), \(kind)")
            let again = try await Self.run(made.text.split(separator: "\n").map(String.init))
            #expect(try again.events(of: "outcomes").contains { $0.contains(#""outcome":"\#(kind)""#) })
            // A subscription that moves to another database makes two events from one line.
            let changes = try again.events(of: "changes").count
            #expect(changes >= made.inputCount, "outcome \(number + 1): a line of the case was rejected")
        }
    }

    private static func kind(_ outcome: String) throws -> String {
        String(try #require(outcome.firstMatch(of: /"outcome":"([a-z_]+)"/)).1)
    }

    @Test func `a case of a change and a device reproduces why the device got a push or no push`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let pipeline = try await Self.run(TextWorkload(seed: random.next(), length: 400).commands)
        let export = try Self.export(pipeline)
        let personalStrings = try Self.personalStrings(pipeline)
        let changes = try pipeline.events(of: "changes").enumerated().filter { $1.contains(#""type":"record."#) }
        try #require(!changes.isEmpty)
        for _ in 0..<8 {
            let (index, _) = random.one(of: Array(changes))
            let user = TextWorkload.user(random.below(TextWorkload.users))
            let device = TextWorkload.device(random.below(3), of: user)
            let made = try export.make(
                .notPushed(change: UInt64(index + 1), user: ExactText(user), device: ExactText(device)))
            try await check(made, personalStrings, "change \(index + 1) and \(user)")
        }
    }

    /// Both subscriptions match change 5. They share a collapse ID, so both matches become one push. If the export
    /// counted the push's outcome once for each subscription, no run would have the recorded result, and `make` would
    /// throw.
    @Test func `a case of a push that two subscriptions share counts the push's outcome once`() async throws {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let subscriptions = ["first", "second"].map { id in
            #"{"type":"subscription.save","time":"2026-01-01T00:00:01Z",\#(place),"database":"public","user":"_margarethe","#
                + #""subscription":{"subscriptionID":"\#(id)","subscriptionType":"query","firesOn":["create"],"#
                + #""query":{"recordType":"Note","predicate":"TRUEPREDICATE"},"#
                + #""notificationInfo":{"alertBody":"Something happened","collapseIDKey":"notes"}}}"#
        }
        let pipeline = try await Self.run(
            [
                #"{"type":"device.register","time":"2026-01-01T00:00:00Z",\#(place),"user":"_margarethe","device":"gadget","#
                    + #""transport":"apns","token":"token","topic":"com.example.Notes"}"#
            ] + subscriptions
                + ["airship", "balloon"].map { name in
                    #"{"type":"record.save","time":"2026-01-01T00:00:02Z",\#(place),"database":"public","#
                        + #""record":{"recordName":"\#(name)","recordType":"Note"}}"#
                })
        // The first match becomes a push at once. The other matches, of both subscriptions, are held and become the
        // second push.
        try #require(try pipeline.events(of: "outcomes").count == 2)
        let made = try Self.export(pipeline).make(.notPushed(change: 5, user: "_margarethe", device: "gadget"))
        #expect(made.inputCount > 3)
    }

    @Test func `an outcome is not exported if retention removed the outcome, or an input that its case needs`()
        async throws
    {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        let pipeline = try await Self.run(
            [
                #"{"type":"device.register","time":"2026-01-01T00:00:00Z",\#(place),"user":"_margarethe","device":"gadget","#
                    + #""transport":"apns","token":"token","topic":"com.example.Notes"}"#,
                #"{"type":"subscription.save","time":"2026-01-01T00:00:01Z",\#(place),"database":"public","#
                    + #""user":"_margarethe","subscription":{"subscriptionID":"s","subscriptionType":"query","#
                    + #""firesOn":["create"],"query":{"recordType":"Note","predicate":"TRUEPREDICATE"},"#
                    + #""notificationInfo":{"alertBody":"Something happened"}}}"#,
            ]
                + ["airship", "balloon"].enumerated().map { number, name in
                    #"{"type":"record.save","time":"2026-01-01T00:0\#(number + 1):00Z",\#(place),"database":"public","#
                        + #""record":{"recordName":"\#(name)","recordType":"Note"}}"#
                })
        try #require(try pipeline.events(of: "outcomes").count == 2)
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        let export = try Self.export(logs.path)
        try logs.trim("changes", before: 4)
        let withoutInputs = #expect(throws: ToolFailure.self) { try export.make(.outcome(1)) }
        #expect(withoutInputs?.status == .no && withoutInputs?.message.contains("older inputs are needed") == true)
        try logs.trim("outcomes", before: 2)
        let withoutOutcome = #expect(throws: ToolFailure.self) { try export.make(.outcome(1)) }
        #expect(withoutOutcome?.status == .noInput)
    }

    @Test func `a case with replaced texts still matches a text search and a system field`() async throws {
        let place = #""container":"iCloud.com.example.Notes","environment":"development""#
        func command(_ type: String, _ second: Int, _ rest: String) -> String {
            #"{"type":"\#(type)","time":"2026-01-01T00:00:0\#(second)Z",\#(place),\#(rest)}"#
        }
        let query =
            #""query":{"recordType":"Note","predicate":"self CONTAINS %@ AND %K == %@","#
            + #""arguments":["the zeppelin","creatorUserRecordID",{"value":"_johannes","type":"STRING"}]}"#
        let pipeline = try await Self.run([
            command(
                "device.register", 0,
                #""user":"_margarethe","device":"gadget","transport":"apns","token":"token","topic":"com.example.Notes""#
            ),
            command(
                "subscription.save", 1,
                #""database":"public","user":"_margarethe","subscription":{"subscriptionID":"s","subscriptionType":"query","#
                    + query + #","firesOn":["create"],"notificationInfo":{"alertBody":"Something happened"}}"#),
            command(
                "record.save", 2,
                #""database":"public","record":{"recordName":"airship","recordType":"Note","#
                    + #""created":{"timestamp":1,"userRecordName":"_johannes"},"#
                    + #""fields":{"title":{"value":"A new Zeppelin, of Friedrichshafen","type":"STRING"}}}"#),
        ])
        try #require(try pipeline.events(of: "outcomes").count == 1)
        let made = try Self.export(pipeline).make(.outcome(1))
        try await check(made, try Self.personalStrings(pipeline), "a search")
        #expect(made.inputCount == 3 && made.text.contains("creatorUserRecordID") && made.text.contains("the "))
        for word in ["eppelin", "johannes", "riedrich"] { #expect(!made.text.contains(word)) }
        let again = try await Self.run(made.text.split(separator: "\n").map(String.init))
        #expect(try again.events(of: "outcomes").count == 1)
    }

    private func check(_ made: CaseExport.Case, _ personalStrings: Set<String>, _ what: String) async throws {
        #expect(try made.trial.result(of: made.lines) == made.result, "\(what): the case has another result")
        for text in personalStrings { #expect(!made.text.contains(text), "\(what): \(text) is in the case") }
        for index in made.lines.indices {
            var fewer = made.lines
            fewer.remove(at: index)
            #expect(try made.trial.result(of: fewer) != made.result, "\(what): line \(index + 1) is unnecessary")
        }
    }

    @Test func `a chain of stages writes the same logs as a pipeline with sockets`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let workload = TextWorkload(seed: random.next(), length: 600)
        let pipeline = try await Self.run(workload.commands)
        let chain = try Chain(PipelineFile.fiveStages(), registry: .builtIns, seed: PipelineRun.standardSeed)
        for command in workload.commands {
            let text = try #require(command.firstMatch(of: /"time":"([^"]+)"/)).1
            #expect(try chain.send(command, at: try #require(Instant(rfc3339: String(text)))))
        }
        try chain.finish()
        for log in VirtualPipeline.logs {
            #expect(chain.events(of: log).map(\.text) == (try pipeline.events(of: log)), "\(log)")
        }
    }
}

/// Random commands with many strings: predicates on strings, large payloads, tokens that move to other devices.
struct TextWorkload {
    private(set) var commands: [String] = []
    private var random: Seeded
    private var now = Instant(microseconds: 1_767_225_600_000_000)
    static let users = 4
    private static let place = #""container":"iCloud.com.example.Notes","environment":"development""#
    private static let titles = [
        "Breakfast", "Breakdown", "breakfast", "Übermut", "übermut", "Zeppelin 17", "Zeppelin 18", "日本語のメモ",
        "Émile’s plan",
    ]

    init(seed: UInt64, length: Int) {
        random = Seeded(seed)
        for user in 0..<TextWorkload.users {
            register(user)
            subscribe(user)
            subscribe(user)
        }
        for _ in 0..<length { addRandomCommand() }
    }

    static func user(_ number: Int) -> String { "_" + ["margarethe", "johannes", "friederike", "balthasar"][number] }

    static func device(_ number: Int, of user: String) -> String { "\(user.dropFirst())-gadget-\(number)" }

    private mutating func add(_ type: String, _ rest: String) {
        now = now.advanced(by: .milliseconds([0, 0, 1, 40, 300, 900, 2_500][random.below(7)]))
        commands.append(#"{"type":"\#(type)","time":"\#(now.rfc3339)",\#(TextWorkload.place),\#(rest)}"#)
    }

    private mutating func addRandomCommand() {
        let user = random.below(TextWorkload.users)
        let name = TextWorkload.user(user)
        switch random.below(20) {
        case 0: register(user)
        case 1:
            add(
                "device.unregister", #""user":"\#(name)","device":"\#(TextWorkload.device(random.below(3), of: name))""#
            )
        case 2: subscribe(user)
        case 3:
            add(
                "subscription.delete", #""database":"public","user":"\#(name)","subscriptionID":"s\#(random.below(4))""#
            )
        case 4...6: add("record.delete", record(of: user, ""))
        default: add("record.save", record(of: user, #","fields":{\#(fields())}"#))
        }
    }

    private mutating func register(_ user: Int) {
        let name = TextWorkload.user(user)
        let token = random.isOneIn(6) ? "sharedtoken\(random.below(2))" : "token-of-\(name)-\(random.below(40))"
        let transport = random.isOneIn(8) ? "pager" : "apns"
        add(
            "device.register",
            #""user":"\#(name)","device":"\#(TextWorkload.device(random.below(3), of: name))","transport":"\#(transport)","#
                + #""token":"\#(token)","topic":"com.example.Notes""#)
    }

    private mutating func subscribe(_ user: Int) {
        let infos = [
            #"{"alertBody":"Something happened","shouldBadge":true}"#, #"{"shouldSendContentAvailable":true}"#,
            #"{"title":"Attention please","alertLocalizationKey":"K","alertLocalizationArgs":["title"],"collapseIDKey":"collapse\#(random.below(2))"}"#,
            #"{"alertBody":"\#(String(repeating: "Very long text ", count: 262))","desiredKeys":["title","text"]}"#,
        ]
        let (database, kind) = random.one(of: [
            ("private", #""subscriptionType":"zone","zoneID":{"zoneName":"Kitchen"}"#),
            ("private", #""subscriptionType":"database""#), ("public", query()), ("public", query()),
        ])
        add(
            "subscription.save",
            #""database":"\#(database)","user":"\#(TextWorkload.user(user))","subscription":{"subscriptionID":"s\#(random.below(4))","#
                + #"\#(kind),"notificationInfo":\#(random.one(of: infos))}"#)
    }

    private mutating func query() -> String {
        let (one, two) = (random.one(of: TextWorkload.titles), random.one(of: TextWorkload.titles))
        let clauses: [String] = [
            #""predicate":"title BEGINSWITH '\#(one.prefix(4))'""#, #""predicate":"title == '\#(one)' AND stars > 2""#,
            #""predicate":"title IN {'\#(one)', '\#(two)'}""#,
            #""predicate":"title BETWEEN {'\#(min(one, two))', '\#(max(one, two))'}""#,
            #""predicate":"NOT title BEGINSWITH '\#(one.prefix(5))'""#, #""predicate":"tags CONTAINS '\#(one)'""#,
            filter("EQUALS", one), filter("LESS_THAN", one), filter("BEGINS_WITH", String(one.prefix(3))),
            filter("GREATER_THAN_OR_EQUALS", two), #""predicate":"stars >= \#(random.below(8))""#,
            #""predicate":"due < now()""#,
            #""filterBy":[{"fieldName":"due","comparator":"LESS_THAN","fieldValue":{"value":"now()","type":"TIMESTAMP"}}]"#,
        ]
        return #""subscriptionType":"query","query":{"recordType":"Note",\#(random.one(of: clauses))},"#
            + #""firesOn":["create","update","delete"],"firesOnce":\#(random.isOneIn(4))"#
    }

    private func filter(_ comparator: String, _ value: String) -> String {
        #""filterBy":[{"fieldName":"title","comparator":"\#(comparator)","fieldValue":{"value":"\#(value)","type":"STRING"}}]"#
    }

    private mutating func record(of user: Int, _ fields: String) -> String {
        let name = TextWorkload.user(user)
        let record = #""recordName":"recipe\#(random.below(12))","recordType":"Note""#
        guard random.below(3) == 0 else { return #""database":"public","record":{\#(record)\#(fields)}"# }
        return """
            "database":"private","owner":"\(name)","origin":{"user":"\(name)","device":"\(TextWorkload.device(random.below(3), of: name))"},\
            "record":{\(record),"zoneID":{"zoneName":"Kitchen","ownerRecordName":"\(name)"}\(fields)}
            """
    }

    private mutating func fields() -> String {
        let (title, other) = (random.one(of: TextWorkload.titles), random.one(of: TextWorkload.titles))
        let text = random.isOneIn(3) ? String(repeating: "Paragraph ", count: 30) : other
        return #""title":{"value":"\#(title)","type":"STRING"},"tags":{"value":["\#(other)"],"type":"STRING_LIST"},"#
            + #""text":{"value":"\#(text)","type":"STRING"},"stars":{"value":\#(random.below(10)),"type":"INT64"},"#
            + #""due":{"value":\#(random.isOneIn(2) ? 0 : 7_258_118_400_000),"type":"TIMESTAMP"}"#
    }
}
