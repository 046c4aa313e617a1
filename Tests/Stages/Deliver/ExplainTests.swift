import PipelineKit
import Testing
import Time

@testable import Deliver

extension DeliverHarness {
    fileprivate func explain(
        _ line: String, _ subject: ExplainedSubject = ExplainedSubject(), at now: Instant = .epoch
    ) throws -> [Explanation] {
        try InputEvent.read(line, sequence: 99) { stage.explain($0, at: now, for: subject) }
    }
}

struct ExplainTests {
    @Test func `the explanation says for each device why it gets the push or not`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("phone"), register("mac"), register("old", transport: "pager"))
        let line = push(origin: #"{"user":"_alice","device":"mac"}"#)
        let explanations = try harness.explain(line)
        #expect(explanations.map(\.code) == [.originExcluded, .transportUnknown, .transportKnown])
        #expect(explanations.compactMap { $0.detail("device") } == [#""mac""#, #""old""#, #""phone""#])
        #expect(try harness.explain(line, ExplainedSubject(device: "mac")).map(\.code) == [.originExcluded])
        #expect(try harness.explain(line, ExplainedSubject(device: "pad")).map(\.code) == [.deviceNone])
        #expect(try harness.explain(line, ExplainedSubject(user: "_bob")).isEmpty)
        #expect(try harness.explain(push(to: "_bob")).map(\.code) == [.deviceNone])
    }

    @Test func `the explanation says that the app of a device is stopped`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push())
        let delivery = try #require(harness.deliveries.first)
        harness.answer(TransportAnswer(delivery.id, .stopped, status: 403, reason: "InvalidProviderToken"))
        harness.advance(to: 2)
        #expect(try harness.explain(push()).map(\.code) == [.appStopped])
    }

    @Test func `the explanation says that a push has expired, except with the setting 'expired: send'`() throws {
        for (settings, code) in [("drop", ExplanationCode.pushExpired), ("send", ExplanationCode.transportKnown)] {
            var harness = try DeliverHarness(settings: "transports: {apns: {use: file}}\nexpired: \(settings)")
            try harness.feed(register("mac"))
            let late = Instant(microseconds: 2_000_000)
            #expect(try harness.explain(push(expiration: 1), at: late).map(\.code) == [code])
            #expect(try harness.explain(push(expiration: 3), at: late).map(\.code) == [.transportKnown])
        }
    }

    @Test func `explaining a push does not change the stage`() throws {
        var (harness, other) = (try DeliverHarness(), try DeliverHarness())
        for line in [register("phone"), register("mac")] {
            try harness.feed(line)
            try other.feed(line)
        }
        _ = try harness.explain(push())
        try harness.feed(push())
        try other.feed(push())
        #expect(harness.deliveries == other.deliveries)
    }
}
