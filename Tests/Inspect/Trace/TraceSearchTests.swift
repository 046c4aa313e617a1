import JSON
import StageTool
import Testing

@testable import Inspect

@Suite struct TraceSearchTests {
    private func logs() throws -> TracedLogs {
        try TracedLogs()
            .write(
                "changes",
                [TestEvents.change("a"), TestEvents.change("17"), TestEvents.change("a"), TestEvents.change("phone")]
            )
            .write("matches", [TestEvents.match(1, "_a", "s"), TestEvents.match(3, "_a", "s")])
            .write("notifications", [TestEvents.notification([1], "_a", "s")])
            .write("pushes", [TestEvents.push([1], "_a", "s")])
            .write("outcomes", [TestEvents.outcome(1, [1], "_a", "phone")])
    }

    private func targets(_ finding: TraceFinding) -> [String] {
        if case .targets(let events, let kind) = finding {
            return events.map { "\(kind.rawValue) \($0.place)" }
        }
        return []
    }

    private func hits(_ finding: TraceFinding) -> [String] {
        if case .hits(let hits, let hasMore) = finding {
            return hits.map { "\($0.kind.rawValue) \($0.event.place)" } + (hasMore ? ["more"] : [])
        }
        return []
    }

    private func tried(_ finding: TraceFinding) -> [String] {
        if case .nothing(let tried) = finding { tried } else { [] }
    }

    @Test func `an ID is looked up as each kind of ID`() throws {
        let logs = try logs()
        #expect(targets(try logs.finding("2")) == ["change changes:2"])
        #expect(targets(try logs.finding("pushes:1")) == ["change pushes:1"])
        #expect(targets(try logs.finding("17")) == ["record changes:2"], "there is no change 17")
        #expect(targets(try logs.finding("2", as: .record)) == [])
        #expect(targets(try logs.finding("17", as: .record)) == ["record changes:2"])
        #expect(targets(try logs.finding("id-1")) == ["notification notifications:1"])
        #expect(targets(try logs.finding("id-3")) == ["notification matches:2"], "the match has no notification yet")
        #expect(targets(try logs.finding("1-phone")) == ["apns-id outcomes:1"])
        #expect(targets(try logs.finding("phone", as: .device)) == ["device outcomes:1"])
    }

    @Test func `names that look alike are different names`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let logs = try TracedLogs()
            .write("changes", [TestEvents.change(composed), TestEvents.change(decomposed)])
            .write("matches", [TestEvents.match(1, "_a", composed), TestEvents.match(1, "_a", decomposed)])
            .write("notifications", [TestEvents.notification([1], "_a", composed)])
        #expect(targets(try logs.finding(composed)) == ["record changes:1"])
        #expect(targets(try logs.finding(decomposed)) == ["record changes:2"])
        let graph = try logs.graph("matches:2")
        #expect(!graph.nodes.keys.contains { $0.log == "notifications" }, "its subscription is the other one")
    }

    @Test func `several results are listed, the newest first`() throws {
        let logs = try logs()
        #expect(hits(try logs.finding("a")) == ["record changes:3", "record changes:1"])
        #expect(hits(try logs.finding("a", limit: 1)) == ["record changes:3", "more"])
        #expect(hits(try logs.finding("phone")) == ["record changes:4", "device outcomes:1"])
    }

    @Test func `a result in JSON has its kind, its place, and the event`() throws {
        let logs = try logs()
        let text = TraceJSON.text(
            [
                TraceHit(
                    kind: .record,
                    event: try #require(try logs.opened().event(at: EventPlace(log: "changes", sequence: 1))))
            ],
            hasMore: true, asked: "a")
        #expect(
            text
                == #"{"asked":"a","hits":[{"as":"record","log":"changes","sequence":1,"now":"2026-01-01T00:00:01Z","type":"record.save","event":\#(TestEvents.change("a"))}],"hasMore":true}"#
        )
    }

    @Test(arguments: [
        "nobody", "99999999999999999999999", "0", "-1", "changes:0", "changes:99", "nolog:1", "a:b:c", ":", "\u{0}",
        "\u{1B}[31mred\u{7}", String(repeating: "x", count: 100_000), "💥", "changes:18446744073709551615",
        "18446744073709551615", "18446744073709551616",
    ])
    func `an ID that is not found is reported`(_ id: String) throws {
        #expect(!tried(try logs().finding(id)).isEmpty)
    }

    @Test func `the report about an ID that is not found says what was searched for and where`() throws {
        #expect(
            tried(try logs().finding("99")) == [
                "no event 99 in changes: the log contains 1 to 4", "no record with this name in changes",
                "no notification with this ID in notifications or matches", "no outcome with this apns-id in outcomes",
                "no device with this name in outcomes or changes",
            ])
        #expect(tried(try logs().finding("nobody", as: .device)) == ["no device with this name in outcomes or changes"])
        #expect(tried(try logs().finding("nobody", as: .change))[0].contains("not a position"))
    }

    @Test func `the report about an ID that is not found says which logs do not exist yet`() throws {
        let logs = try TracedLogs().write("changes", [TestEvents.change("a")])
        #expect(tried(try logs.finding("nobody", as: .record)) == ["no record with this name in changes"])
        #expect(
            tried(try logs.finding("nobody", as: .apnsID)) == [
                "no outcome with this apns-id: there is no log to search yet"
            ])
    }

    @Test func `a folder that contains no logs of a known pipeline is an error`() throws {
        let logs = try TracedLogs()
        #expect(throws: ToolFailure.self) { try logs.opened() }
        try logs.write("mine", ["{}"])
        let failure = #expect(throws: ToolFailure.self) { try logs.opened() }
        #expect(failure?.status == .noInput && failure?.message.contains("name the pipeline file with -p") == true)
    }
}
