import EventLog
import JSON
import StageTool
import Testing

@testable import Inspect

@Suite struct TraceFormTests {
    private func logs() throws -> TracedLogs {
        try TracedLogs().write("changes", [TestEvents.change("a"), TestEvents.change("b")])
            .write("matches", [TestEvents.match(1, "_a", "s"), TestEvents.match(2, "_a", "s")])
            .write(
                "notifications",
                [
                    TestEvents.coalesced(match: 1, change: 1, by: 2, change: 2, "_a", "s"),
                    TestEvents.notification([1, 2], "_a", "s"),
                ])
    }

    @Test func `the JSON of a trace is nested and marks repeated events`() throws {
        let text = TraceJSON.text(try logs().graph("notifications:2"), asked: "x", as: .change)
        let change = TestEvents.change("a")
        #expect(
            text.hasPrefix(
                #"{"asked":"x","as":"change","targets":["notifications:2"],"changesLeftOut":0,"isCut":false,"trace":[{"log":"changes","sequence":1,"now":"2026-01-01T00:00:01Z","type":"record.save","event":\#(change),"effects":[{"log":"matches","sequence":1,"now":"2026-01-01T00:00:01Z","type":"match","sinceCauseMicroseconds":0,"event":"#
            ))
        #expect(
            text.hasSuffix(
                #"{"log":"notifications","sequence":2,"now":"2026-01-01T00:00:02Z","type":"notification","sinceCauseMicroseconds":0,"target":true,"repeated":true}]}]}]}"#
            ))
        var parser = JSONParser()
        try Array(text.utf8).withUnsafeBytes { bytes in
            let trace = try #require(try parser.parse(bytes)["trace"])
            #expect(trace.count == 2)
        }
    }

    @Test func `the flowchart of a trace has one box for each event`() throws {
        #expect(
            TraceMermaid.lines(try logs().graph("2")) == [
                "flowchart TD",
                #"  e1["notifications:2<br/>notification<br/>_a s for changes 1, 2<br/>2026-01-01T00:00:02Z"]"#,
                #"  e2["matches:2<br/>match<br/>_a s<br/>2026-01-01T00:00:02Z"]"#,
                #"  e3(["changes:2<br/>record.save<br/>create Note b<br/>2026-01-01T00:00:02Z"])"#,
                #"  e2 --> |"+0 ms"| e1"#, #"  e3 --> |"+0 ms"| e2"#,
            ])
        let boxes = TraceMermaid.lines(try logs().graph("notifications:2")).filter { $0.contains("[\"") }
        #expect(boxes.count == 6, "a notification with two causes has one box")
    }

    @Test func `users' texts can neither control the terminal nor break the chart`() throws {
        let name = #"a\u001b[31m\"];<script>\u202e"#
        let logs = try TracedLogs().write("changes", [TestEvents.change(name)])
        let graph = try logs.graph("1")
        let tree = TraceText(painter: Painter(isColoured: false)).lines(graph).joined()
        #expect(tree.contains(#"create Note a\u{1b}[31m"];<script>\u{202e} ◀"#))
        let box = try #require(TraceMermaid.lines(graph).last)
        #expect(box.contains("create Note a#92;u#123;1b#125;#91;31m#34;#93;#59;#60;script#62;"))
        #expect(box.filter { $0 == "\"" }.count == 2)
        #expect(TraceJSON.text(graph, asked: "\u{1B}", as: .change).hasPrefix(#"{"asked":"\u001b""#))
    }

    @Test func `a trace marks events that are not JSON`() throws {
        let logs = try TracedLogs().write("changes", ["{\"type\":"])
        #expect(try logs.tree("1").contains("not JSON"))
        #expect(TraceJSON.text(try logs.graph("1"), asked: "1", as: .change).contains(#""event":null"#))
    }

    @Test func `durations have a fitting unit, and the progress of indexing is in percent`() {
        #expect(Duration.microseconds(0).sinceText == "+0 ms")
        #expect(Duration.microseconds(12).sinceText == "+12 µs")
        #expect(Duration.milliseconds(1_500).sinceText == "+1.5 s")
        #expect(
            IndexProgress.text("matches", LogIndex.Progress(bytesDone: 40, bytes: 100)) == "indexing matches … 40 %")
        #expect(IndexProgress.text("matches", LogIndex.Progress(bytesDone: 0, bytes: 0)) == "indexing matches … 100 %")
    }
}
