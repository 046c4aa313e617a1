import StageTool
import Testing

@testable import Inspect

/// Tests traces that show what a transport's answers caused: retired devices and stopped apps.
@Suite struct TraceDeliveryTests {
    private static let place = #""container":"C","environment":"development""#
    private static let app = #"\#(place),"transport":"apns","topic":"com.a""#
    private static let device = #""user":"_a","device":"phone","transport":"apns""#

    private static func push(_ change: Int) -> String {
        TestEvents.push([change], "_a", "s").replacing(#""type":"push","#, with: #""type":"push",\#(place),"#)
    }

    private static func outcome(_ type: String, _ push: Int, _ rest: String) -> String {
        #"{"type":"\#(type)","push":\#(push),"notificationID":"id-\#(push + 1)",\#(device),"apns-id":"\#(push)-phone",\#(rest),"#
            + #""causes":[{"log":"changes","sequence":\#(push + 1)}]}"#
    }

    private static func notice(_ type: String, _ rest: String) -> String {
        #"{"type":"\#(type)","of":"device.retired","push":2,\#(place),\#(device),"webhook-id":"w-2",\#(rest),"#
            + #""registered":"2026-01-01T00:00:01Z"}"#
    }

    /// The answer to the first push stops the app `com.a`. The second push is held until the app is resumed, and then
    /// its answer retires the device. The stop of another app, `com.b`, must not be in the traces.
    private func logs() throws -> TracedLogs {
        try TracedLogs().write(
            "changes",
            [
                #"{"type":"device.register",\#(Self.place),\#(Self.device),"token":"00","topic":"com.a"}"#,
                TestEvents.change("a"), TestEvents.change("b"),
            ]
        )
        .write("matches", [TestEvents.match(2, "_a", "s"), TestEvents.match(3, "_a", "s")])
        .write("notifications", [TestEvents.notification([2], "_a", "s"), TestEvents.notification([3], "_a", "s")])
        .write("pushes", [Self.push(2), Self.push(3)])
        .write(
            "outcomes",
            [
                #"{"type":"app.stopped",\#(Self.app.replacing("com.a", with: "com.b")),"status":403}"#,
                Self.outcome("attempt", 1, #""outcome":"held","answer":"stopped","status":403"#),
                #"{"type":"app.stopped",\#(Self.app),"status":403,"reason":"InvalidProviderToken","probeAt":"2026-01-01T00:02:00Z"}"#,
                Self.outcome("attempt", 2, #""outcome":"held""#),
                #"{"type":"app.resumed",\#(Self.app),"held":2}"#,
                Self.outcome("outcome", 1, #""outcome":"accepted""#),
                Self.outcome("outcome", 2, #""outcome":"unregistered","status":410,"reason":"Unregistered""#),
                #"{"type":"device.retired",\#(Self.place),\#(Self.device),"topic":"com.a","status":410,"#
                    + #""reason":"Unregistered","registered":"2026-01-01T00:00:01Z","push":2}"#,
                Self.notice(
                    "notice.attempt",
                    #""outcome":"deferred","answer":"failed","status":503,"until":"2026-01-01T00:02:00Z""#),
                Self.notice("notice.outcome", #""outcome":"accepted","status":204"#),
            ])
    }

    private func tree(_ logs: TracedLogs, _ id: String, dropping count: Int) throws -> String {
        try logs.tree(id).split(separator: "\n").dropFirst(count).map { $0.dropFirst(6) }.joined(separator: "\n")
    }

    @Test
    func `the traces of a push that stopped its app, and of a held push, show the stop and the resumption`()
        throws
    {
        let logs = try logs()
        #expect(
            try tree(logs, "a", dropping: 3) == """
                └─ pushes:1  2026-01-01T00:00:01Z  +0 ms  push  _a s silent
                   ├─ outcomes:2  2026-01-01T00:00:02Z  +1 s  attempt  held _a/phone by apns 403
                   │  └─ outcomes:3  2026-01-01T00:00:03Z  +1 s  app.stopped  apns com.a 403 InvalidProviderToken, next try at 2026-01-01T00:02:00Z
                   │     └─ outcomes:5  2026-01-01T00:00:05Z  +2 s  app.resumed  apns com.a 2 held pushes released
                   └─ outcomes:6  2026-01-01T00:00:06Z  +5 s  outcome  accepted _a/phone by apns
                """)
        #expect(
            try tree(logs, "b", dropping: 4) == """
                   ├─ outcomes:4  2026-01-01T00:00:04Z  +2 s  attempt  held _a/phone by apns
                   │  └─ outcomes:3  2026-01-01T00:00:03Z  -1 s  app.stopped  apns com.a 403 InvalidProviderToken, next try at 2026-01-01T00:02:00Z
                   │     └─ outcomes:5  2026-01-01T00:00:05Z  +2 s  app.resumed  apns com.a 2 held pushes released
                   └─ outcomes:7  2026-01-01T00:00:07Z  +5 s  outcome  unregistered _a/phone by apns 410 Unregistered
                      └─ outcomes:8  2026-01-01T00:00:08Z  +1 s  device.retired  _a/phone by apns 410 Unregistered
                         ├─ outcomes:9  2026-01-01T00:00:09Z  +1 s  notice.attempt  deferred _a/phone by apns 503 until 2026-01-01T00:02:00Z
                         └─ outcomes:10  2026-01-01T00:00:10Z  +2 s  notice.outcome  accepted _a/phone by apns 204
                """)
    }

    @Test
    func `a device's retirement and notices are traced to the change, and a webhook-id finds the notices`() throws {
        let logs = try logs()
        for id in ["outcomes:8", "outcomes:9", "outcomes:10"] {
            let tree = try logs.tree(id)
            #expect(tree.hasPrefix("changes:3  ") && tree.contains(" device.retired ") && tree.contains(" ◀"), "\(id)")
        }
        guard case .hits(let hits, _) = try logs.finding("w-2") else { throw ToolFailure(.no) }
        #expect(hits.map(\.event.sequence) == [10, 9])
    }

    @Test func `a trace as JSON or Mermaid shows retired devices and stopped apps too`() throws {
        let graph = try logs().graph("b")
        let json = TraceJSON.text(graph, asked: "b", as: .record)
        let mermaid = TraceMermaid.lines(graph).joined(separator: "\n")
        for type in ["device.retired", "app.stopped", "app.resumed", "notice.outcome"] {
            #expect(json.contains(#""type":"\#(type)""#) && mermaid.contains("<br/>\(type)<br/>"), "\(type)")
        }
    }
}
