import JSON
import PipelineKit
import TestSupport
import Testing
import Time

@testable import Match

/// If a change has very many matches, they are written in parts. The matches stay the same.
@Suite struct FanOutTests {
    private static let subscriptionCount = 300

    private static func subscription(_ number: Int, _ random: inout Seeded) -> String {
        let once = random.isOneIn(3) ? #","firesOnce":true"# : ""
        let info = #","notificationInfo":{"alertBody":"Changed","desiredKeys":["title"]}"#
        let filter =
            #""filterBy":[{"comparator":"EQUALS","fieldName":"topic","fieldValue":{"value":"t\#(random.below(2))"}}]"#
        return Line.save(
            Line.query(filter, more: once + info), id: "s\(number)", database: "public", user: "_u\(number)")
    }

    private static func change(_ random: inout Seeded) -> String {
        let fields = #"{"topic":{"value":"t\#(random.below(3))"},"title":{"value":"Title \#(random.below(100))"}}"#
        let kind = random.one(of: ["create", "update", "delete"])
        return Line.change(kind, database: "public", owner: nil, fields: fields)
    }

    @Test func `the matches are the same, whatever the size of the parts in which they are written`() throws {
        var random = Seeded(Seeded.ofThisRun)
        var lines = (0..<Self.subscriptionCount).map { Self.subscription($0, &random) }
        // About half of the subscriptions watch this change.
        lines.append(Line.change("create", database: "public", owner: nil, fields: #"{"topic":{"value":"t0"}}"#))
        for _ in 0..<12 { lines.append(Self.change(&random)) }
        lines += (0..<20).map { _ in Self.subscription(random.below(Self.subscriptionCount), &random) }
        for _ in 0..<6 { lines.append(Self.change(&random)) }
        let (whole, none) = try Self.run(lines, partBytes: 1 << 30)
        #expect(none == 0, "each change fits in one part")
        #expect(whole.count > Self.subscriptionCount)
        for partBytes in [1, 600, 5_000, 40_000] {
            let (written, continuations) = try Self.run(lines, partBytes: partBytes)
            #expect(written == whole, "in parts of \(partBytes) bytes")
            #expect(continuations > 0)
        }
    }

    /// Feeds the lines. While a change is unfinished, empties the outbox and continues, as a host does.
    ///
    /// - Returns: The events that the stage wrote, and how often it continued with a change.
    private static func run(_ lines: [String], partBytes: Int) throws -> (written: [String], continuations: Int) {
        let log = LogIdentity(seed: "match tests", name: "matches")
        let context = StageContext(log: log, upstream: Feed.upstream, upstreamName: "changes")
        var clock = StageClock(try MatchStage(MatchSettings(), context: context))
        var (written, continuations) = ("", 0)
        var parser = JSONParser()
        var out = Outbox()
        out.fullPartBytes = partBytes
        for (index, line) in lines.enumerated() {
            try Array(line.utf8).withUnsafeBytes { line in
                let sequence = UInt64(index + 1)
                let event = InputEvent(sequence: sequence, json: try parser.parse(line), line: line)
                clock.begin(event, at: Instant(microseconds: Int64(index)), into: &out)
            }
            // Overwrites the parser's memory by parsing another text, because a stage must not need the event any more.
            _ = try Array("{}".utf8).withUnsafeBytes { try parser.parse($0).isObject }
            while clock.isUnfinished {
                continuations += 1
                #expect(out.count > 0)
                written += String(decoding: out.lines, as: UTF8.self)
                out.removeEvents()
                clock.proceed(into: &out)
            }
            written += String(decoding: out.lines, as: UTF8.self)
            out.removeEvents()
        }
        return (written.split(separator: "\n").map(String.init), continuations)
    }

    @Test func `a part of a change's matches is not much larger than its limit`() throws {
        var random = Seeded(3)
        var feed = try Feed()
        for number in 0..<Self.subscriptionCount { _ = try feed.send(Self.subscription(number, &random)) }
        var clock = StageClock(feed.stage)
        var out = Outbox()
        out.fullPartBytes = 10_000
        let line = Line.change(database: "public", owner: nil, fields: #"{"topic":{"value":"t1"}}"#)
        try InputEvent.read(line, sequence: 400) { clock.begin($0, at: .epoch, into: &out) }
        #expect((10_000..<11_000).contains(out.lines.count))
        #expect(clock.isUnfinished)
    }
}
