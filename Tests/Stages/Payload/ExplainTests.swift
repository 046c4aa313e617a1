import PipelineKit
import Testing

@testable import Payload

struct ExplainTests {
    private func explain(
        _ notification: SampleNotification, _ subject: ExplainedSubject = ExplainedSubject()
    ) throws -> [Explanation] {
        let stage = try PayloadStage(PayloadSettings(), context: context)
        return try InputEvent.read(notification.line, sequence: 1) { stage.explain($0, at: .epoch, for: subject) }
    }

    @Test func `the explanation distinguishes silent and visible pushes`() throws {
        #expect(try explain(SampleNotification()).map(\.code) == [.payloadSilent])
        #expect(try explain(SampleNotification(info: #"{"alertBody":"Hi"}"#)).map(\.code) == [.payloadAlert])
        #expect(try explain(SampleNotification(), ExplainedSubject(user: "_other")).isEmpty)
    }

    @Test func `the explanation says whether the subscription or a lack of room makes a push silent`() throws {
        let plain = try explain(SampleNotification())
        #expect(plain.map(\.text) == ["the push is silent: its subscription sets no alert, sound or badge"])
        let body = String(repeating: "b", count: 5_000)
        let long = try explain(SampleNotification(info: #"{"alertBody":"\#(body)"}"#))
        #expect(long.map(\.code) == [.payloadSilent, .payloadPruned])
        #expect(long.first?.text == "the push is silent: its payload has no room for an alert, a sound or a badge")
    }

    @Test(arguments: [3_700, 4_000, 5_000])
    func `the explanation names the parts left out and the bytes of the payload without them`(length: Int) throws {
        let long = String(repeating: "x", count: 90)
        let body = String(repeating: "b", count: length)
        let notification = SampleNotification(
            fields: #"{"one":{"value":"\#(long)"},"two":{"value":"\#(long)"}}"#,
            info: #"{"alertBody":"\#(body)","title":"T","desiredKeys":["one","two"]}"#)
        let pruned = try #require(try explain(notification).first { $0.code == .payloadPruned })
        let payload = try payloadText(of: outputs(of: [notification.line]).lines[0])
        #expect(pruned.detail("bytesAfter") == "\(payload.utf8.count)")
        let leftOut = try #require(pruned.detail("leftOut"))
        for (name, written) in [
            ("af.two", #""two":"#), ("af.one", #""one":"#), (#""body""#, "bbbb"), ("title", "title"),
        ] {
            #expect(payload.contains(written) != leftOut.contains(name), "\(name)")
        }
    }

    @Test func `the explanation names fields whose values the payload lacks because of their types`() throws {
        let fields =
            #"{"a":{"value":"AAEC","type":"BYTES"},"b":{"value":["x"]},"c":{"value":{"recordName":"r"}},"d":{"value":1}}"#
        let info = #"{"titleLocalizationKey":"K","titleLocalizationArgs":["d","c","x"],"desiredKeys":["c","b","a"]}"#
        let explained = try explain(SampleNotification(fields: fields, info: info))
        #expect(explained.map(\.code) == [.payloadAlert, .payloadUnfit])
        #expect(explained.last?.detail("fields") == #"["a","b","c"]"#)
        let deleted = SampleNotification(reason: "delete", fields: fields, info: #"{"desiredKeys":["a"],"title":"T"}"#)
        #expect(try explain(deleted).map(\.code) == [.payloadAlert])
    }

    @Test func `the explanation says that the payload stage cannot use a notification`() throws {
        #expect(try explain(SampleNotification(environment: "nowhere")).map(\.code) == [.eventDeadLetter])
    }
}
