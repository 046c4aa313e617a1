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

    @Test func `silent and visible pushes are told apart`() throws {
        #expect(try explain(SampleNotification()).map(\.code) == [.payloadSilent])
        #expect(try explain(SampleNotification(info: #"{"alertBody":"Hi"}"#)).map(\.code) == [.payloadAlert])
        #expect(try explain(SampleNotification(), ExplainedSubject(user: "_other")).isEmpty)
    }

    @Test(arguments: [3_700, 4_000, 5_000])
    func `what is left out is named, with the bytes before and after that the push has`(length: Int) throws {
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

    @Test func `values of types that no payload has are named`() throws {
        let fields =
            #"{"a":{"value":"AAEC","type":"BYTES"},"b":{"value":["x"]},"c":{"value":{"recordName":"r"}},"d":{"value":1}}"#
        let info = #"{"titleLocalizationKey":"K","titleLocalizationArgs":["d","c","x"],"desiredKeys":["c","b","a"]}"#
        let explained = try explain(SampleNotification(fields: fields, info: info))
        #expect(explained.map(\.code) == [.payloadAlert, .payloadUnfit])
        #expect(explained.last?.detail("fields") == #"["a","b","c"]"#)
        let deleted = SampleNotification(reason: "delete", fields: fields, info: #"{"desiredKeys":["a"],"title":"T"}"#)
        #expect(try explain(deleted).map(\.code) == [.payloadAlert])
    }

    @Test func `a notification that payload cannot use is told`() throws {
        #expect(try explain(SampleNotification(environment: "nowhere")).map(\.code) == [.eventDeadLetter])
    }
}
