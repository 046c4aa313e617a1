import BelfryTestKit
import BuiltIns
import JSON
import PipelineKit
import PipelineTestKit
import Synchronization
import TestSupport
import Testing
import Time

/// Checks of stages that follow the rules, and of stages that each break one rule.
@Suite(.timeLimit(.minutes(5)))
struct StageConformanceTests {
    private static func builtIn(_ kind: String, _ settings: String) throws -> StageConformance {
        let type = try #require(Registry.builtIns.stages[kind])
        return try conformance(type, settings)
    }

    private static func conformance<S: Stage>(_ type: S.Type, _ settings: String) throws -> StageConformance {
        try StageConformance(type, settings: settings)
    }

    @Test(arguments: [
        ("ingest", "{}"), ("match", "{}"), ("coalesce", "{window: 1s}"),
        ("coalesce", "{window: 1s, policy: debounce, pendingPerUser: 1}"), ("payload", "{expiration: 1h}"),
        ("deliver", "{transports: {apns: {use: console}}}"),
    ])
    func `Belfry's own stages keep the rules`(_ kind: String, _ settings: String) throws {
        #expect(try Self.builtIn(kind, settings).problems() == [])
    }

    @Test func `a stage that keeps the rules has no problems`() throws {
        let results = try StageConformance(Counting.self, settings: "{fault: none}").results()
        #expect(results.compactMap(\.problem) == [])
        #expect(results.count == ConformanceRule.ofStages.count)
        let skipped = results.filter { if case .skipped = $0.verdict { true } else { false } }
        #expect(skipped.map(\.rule) == [.recalls])
    }

    private static let faults: [(fault: String, rule: ConformanceRule)] = [
        ("notJSON", .json), ("list", .json), ("chance", .repeats), ("peeks", .cuts), ("fills", .cuts),
        ("eager", .causes), ("invents", .causes), ("drops", .unknown), ("odd", .odd), ("oddlyEndless", .odd),
        ("stuck", .deadlines), ("endless", .deadlines), ("forgets", .snapshots), ("half", .snapshots),
    ]

    @Test(arguments: faults)
    func `a broken rule of a stage is reported`(_ fault: String, _ rule: ConformanceRule) throws {
        let result = try StageConformance(Counting.self, settings: "{fault: \(fault)}").result(rule)
        #expect(result.problem?.hasPrefix(rule.rawValue + ": ") == true, "\(result)")
    }

    @Test(arguments: Tier.some(of: faults))
    func `only the broken rule of a stage is reported`(_ fault: String, _ rule: ConformanceRule) throws {
        let check = try StageConformance(Counting.self, settings: "{fault: \(fault)}")
        let others = ConformanceRule.ofStages.filter { $0 != rule }.compactMap { check.result($0).problem }
        #expect(others == [], "\(fault)")
    }

    @Test func `a stage check accepts events from the caller`() throws {
        let check = try StageConformance(
            Counting.self, settings: "{fault: none}",
            events: [#"{"type":"match","time":"2026-02-01T00:00:00Z"}"#, #"{"type":"match"}"#])
        #expect(check.problems() == [])
    }
}

/// Gives each match a number, and writes the number a second later. Breaks one rule unless the setting `fault` is
/// `none`.
private struct Counting: Stage {
    struct Settings: PluginSettings {
        let fault: String

        init(from settings: inout SettingsReader) throws(SettingsError) { fault = try settings.string("fault") }
    }

    static let kind = "counting"
    static let snapshotVersion: Int? = 1
    private static let calls = Mutex(0)

    private let fault: String
    private var count = 0
    /// Counts the matches like `count`, but is not in snapshots, so it begins at 0 again after a restart. With the
    /// fault `forgets`, each match gets its number from here.
    private var unsavedCount = 0
    /// With the fault `eager`, the stage writes an output before any input, and then sets this number to 1. Snapshots
    /// save the number.
    private var earlyOutputs = 0
    private var held: [(number: Int, due: Instant)] = []
    private var keepsWaking = false

    init(_ settings: Settings, context: StageContext) throws(SettingsError) { fault = settings.fault }

    var deadline: Instant? {
        if fault == "eager", count == 0, earlyOutputs == 0 { return Instant(microseconds: 1) }
        if keepsWaking, held.isEmpty { return nextWake }
        return held.first?.due
    }

    private var nextWake = Instant.epoch

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        guard event.isOfType("match") else {
            if fault == "drops", !(event.json["type"]?.string?.hasPrefix("device") ?? false) { return }
            return out.pass(event)
        }
        count += 1
        unsavedCount += 1
        held.append((number: fault == "forgets" ? unsavedCount : count, due: now.advanced(by: .seconds(1))))
        if fault == "oddlyEndless", event.json["user"] == nil {
            (keepsWaking, nextWake) = (true, now.advanced(by: .seconds(1)))
        }
        if fault == "odd", event.json["user"] == nil { out.append { $0.append("no JSON at all") } }
        if fault == "peeks", out.count > 0 { out.append { $0.append("{\"peeked\":true}") } }
    }

    mutating func wake(at now: Instant, into out: inout Outbox) {
        if fault == "eager", held.isEmpty {
            earlyOutputs = 1
            return out.append { $0.append("{\"type\":\"eager\"}") }
        }
        if held.isEmpty {
            if fault == "endless" || fault == "oddlyEndless" { nextWake = now.advanced(by: .seconds(1)) }
            return
        }
        while let first = held.first, first.due <= now {
            held.removeFirst()
            write(first.number, into: &out)
        }
        guard fault == "stuck" || fault == "endless", held.isEmpty else { return }
        (keepsWaking, nextWake) = (true, fault == "stuck" ? now : now.advanced(by: .seconds(1)))
    }

    private func write(_ number: Int, into out: inout Outbox) {
        var number = number
        if fault == "chance" {
            number += Self.calls.withLock {
                $0 += 1
                return $0
            }
        }
        out.append { buffer in
            if fault == "list" { return buffer.append("[1]") }
            buffer.append("{\"type\":\"counted\",\"number\":")
            buffer.appendJSON(number)
            if fault == "invents" { buffer.append(",\"causes\":[{\"log\":\"changes\",\"sequence\":4711}]") }
            if fault != "notJSON" { buffer.append("}") }
        }
        if fault == "fills", out.isFull { out.append { $0.append("{\"full\":true}") } }
    }

    func snapshot(into snapshot: inout SnapshotWriter) {
        snapshot.write(count)
        snapshot.write(held.count)
        for (number, due) in held {
            snapshot.write(number)
            if fault != "half" { snapshot.write(Int(due.microseconds)) }
        }
        if fault == "eager" { snapshot.write(earlyOutputs) }
    }

    mutating func restore(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        count = try snapshot.integer()
        let number = try snapshot.integer()
        guard (0...1_000).contains(number) else { throw snapshot.error("more than 1,000 matches") }
        for _ in 0..<number {
            let (number, due) = (try snapshot.integer(), fault == "half" ? 0 : try snapshot.integer())
            held.append((number: number, due: Instant(microseconds: Int64(due))))
        }
        if fault == "eager" { earlyOutputs = try snapshot.integer() }
    }
}
