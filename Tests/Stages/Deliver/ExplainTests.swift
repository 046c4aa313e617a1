import PipelineKit
import Testing

@testable import Deliver

extension Bench {
    fileprivate func explain(_ line: String, _ subject: ExplainedSubject = ExplainedSubject()) throws -> [Explanation] {
        try InputEvent.read(line, sequence: 99) { stage.explain($0, at: .epoch, for: subject) }
    }
}

struct ExplainTests {
    @Test func `the explanation says for each device why it gets the push or not`() throws {
        var bench = try Bench()
        try bench.feed(register("phone"), register("mac"), register("old", transport: "pager"))
        let line = push(origin: #"{"user":"_alice","device":"mac"}"#)
        let told = try bench.explain(line)
        #expect(told.map(\.code) == [.originExcluded, .transportUnknown, .transportKnown])
        #expect(told.compactMap { $0.detail("device") } == [#""mac""#, #""old""#, #""phone""#])
        #expect(try bench.explain(line, ExplainedSubject(device: "mac")).map(\.code) == [.originExcluded])
        #expect(try bench.explain(line, ExplainedSubject(device: "pad")).map(\.code) == [.deviceNone])
        #expect(try bench.explain(line, ExplainedSubject(user: "_bob")).isEmpty)
        #expect(try bench.explain(push(to: "_bob")).map(\.code) == [.deviceNone])
    }

    @Test func `the explanation says that the app of a device is stopped`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), push())
        let delivery = try #require(bench.deliveries.first)
        bench.answer(TransportAnswer(delivery.id, .stopped, status: 403, reason: "InvalidProviderToken"))
        bench.advance(to: 2)
        #expect(try bench.explain(push()).map(\.code) == [.appStopped])
    }

    @Test func `explaining changes nothing`() throws {
        var (bench, other) = (try Bench(), try Bench())
        for line in [register("phone"), register("mac")] {
            try bench.feed(line)
            try other.feed(line)
        }
        _ = try bench.explain(push())
        try bench.feed(push())
        try other.feed(push())
        #expect(bench.deliveries == other.deliveries)
    }
}
