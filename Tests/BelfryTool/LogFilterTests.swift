import ArgumentParser
import EventLog
import Foundation
import JSON
import Testing
import Time

@testable import BelfryTool
@testable import StageTool

struct LogFilterTests {
    private static let events = [
        #"{"type":"record.save","owner":"_alice","record":{"recordName":"n1","fields":{"n":{"value":3}}},"change":1}"#,
        #"{"type":"match","change":2,"user":"_bob","subscriptionID":"feed","recordName":"n1","fields":[{"a":1},{"a":2}]}"#,
        #"{"type":"push","user":"_alice","subscriptionID":"feed","headers":{"p":"10"},"causes":[{"log":"changes","sequence":1},{"log":"changes","sequence":4}]}"#,
        #"{"type":"outcome","user":"_alice","device":"phone","status":410,"ok":false,"causes":[{"log":"changes","sequence":2}]}"#,
        #"{"type":"coalesced","match":9,"change":4,"replacedByChange":5,"user":"_b\u006fb"}"#,
    ]

    @Test(arguments: [
        ([], [0, 1, 2, 3, 4]), (["--type", "push"], [2]), (["--type", "push", "--type", "match"], [1, 2]),
        (["--user", "_alice"], [0, 2, 3]), (["--user", "_bob"], [1, 4]),
        (["--user", "_alice", "--subscription", "feed"], [2]), (["--record", "n1"], [0, 1]),
        (["--device", "phone"], [3]), (["--device", "tablet"], []), (["--cause", "1"], [0, 2]),
        (["--cause", "2"], [1, 3]), (["--cause", "5"], [4]), (["--where", "status=410"], [3]),
        (["--where", "headers.p=10"], [2]), (["--where", "ok=false"], [3]), (["--where", "fields.a=2"], [1]),
        (["--where", "record.fields.n.value=3"], [0]), (["--where", "user=_alice", "--where", "ok=false"], [3]),
        (["--where", "none="], []),
    ])
    func `an event is shown if it matches a value of each option and all conditions`(
        arguments: [String], expected: [Int]
    ) throws {
        let filter = try EventFilter.parse(arguments)
        #expect(filter.isEmpty == arguments.isEmpty)
        var parser = JSONParser()
        let accepted = try LogFilterTests.events.indices.filter { index in
            let bytes = Array(LogFilterTests.events[index].utf8)
            return try bytes.withUnsafeBytes { filter.accepts(try parser.parse($0)) }
        }
        #expect(accepted == expected)
    }

    @Test(arguments: ["", "a", "=1", "a..b=1", ".a=1"])
    func `a condition without a member, without = or with an empty part of its path is refused`(text: String) {
        #expect(MemberCondition(argument: text) == nil)
        let condition = MemberCondition(argument: "a.b=c=d")
        #expect(condition?.path == ["a", "b"] && condition?.value == "c=d")
    }

    @Test func `positions count all events, and the limit counts only the selected events`() throws {
        let folder = try TemporaryFolder()
        let writer = try EventLogWriter(EventLogOptions(directory: folder.path, name: "all", sync: .never))
        for round in 0..<4 {
            let body = Array(LogFilterTests.events.joined(separator: "\n").utf8) + [0x0A]
            try body.withUnsafeBytes {
                _ = try writer.append($0, count: 5, now: Instant(microseconds: Int64(round) * 1_000_000))
            }
        }
        try writer.close()
        let shown: [(until: UInt64, sequences: [Substring])] = [
            (18, ["3", "4", "6", "8", "9"]), (6, ["3", "4", "6"]),
        ]
        for (until, expected) in shown {
            var output: [UInt8] = []
            let printer = EventPrinter(.envelopes) { output += $0 }
            var show = LogShow(
                printer: printer, filter: try EventFilter.parse(["--user", "_alice"]), from: .sequence(3),
                until: .sequence(until), eventsLeft: 5, follows: false)
            try show.run(folder.path + "/all")
            let text = String(decoding: output, as: UTF8.self)
            let sequences = text.matches(of: /"sequence":(\d+),"now"/).map { $0.1 }
            #expect(sequences == expected)
        }
    }

    @Test func `statistics count events by type`() throws {
        let folder = try TemporaryFolder()
        let writer = try EventLogWriter(EventLogOptions(directory: folder.path, name: "all", sync: .never))
        for (second, type) in ["a", "a", "b", "a"].enumerated() {
            let line = Array(#"{"type":"\#(type)","p":"\#(String(repeating: "x", count: second))"}"#.utf8) + [0x0A]
            try line.withUnsafeBytes {
                _ = try writer.append($0, count: 1, now: Instant(microseconds: Int64(second) * 1_000_000))
            }
        }
        try writer.close()
        let stat = try LogStat.read(folder.path + "/all")
        #expect(stat.typesByFrequency.map(\.type) == ["a", "b"])
        #expect(stat.typesByFrequency.map(\.amount.events) == [3, 1])
        #expect(stat.rate(stat.typesByFrequency[0].amount) == 1 && stat.seconds == 3)
        #expect(stat.largest == .init(sequence: 4, bytes: 23, type: "a"))
        let lines = StatText.lines(stat)
        #expect(lines[0].hasPrefix("all: 4 events in 4 batches, 86 B of events; 1970-01-01T00:00:00Z to"))
        #expect(lines[1] == "TYPE  EVENTS  SHARE  BYTES  EACH  PER SECOND")
        #expect(lines[2] == "a          3  75.0%   64 B  21 B         1.0")
        #expect(StatText.json(stat).contains(#""largest":{"sequence":4,"bytes":23,"type":"a"},"types":[{"type":"a""#))
    }

    @Test func `progress shows share, rate and remaining time`() {
        var progress = ReadingProgress(total: 10_000_000, isShown: false)
        progress.add(4_000_000)
        #expect(progress.text(after: .seconds(2)) == "40% of 10 MB, 2 MB/s, 3 s left")
    }
}
