import PipelineKit
import Testing
import Time

@testable import Deliver

/// Notices of retired devices for the app's backend.
@Suite struct RetirementNoticeTests {
    private static let settings = "transports: {apns: {use: file}}\nretired: {url: x}\n"

    private func at(_ second: Int64) -> Instant { Instant(microseconds: second * 1_000_000) }

    /// A harness at second 6 whose only device was retired a microsecond after second 5, and the notice about that
    /// device.
    private func harness(_ settings: String = "") throws -> (DeliverHarness, Delivery) {
        var harness = try DeliverHarness(settings: Self.settings + settings)
        harness.advance(to: 5)
        try harness.feed(register("mac", token: "6a0f"), push())
        let push = try #require(harness.takeDeliveries().first)
        harness.answer(TransportAnswer(push.id, .unregistered, status: 410, reason: "Unregistered", since: at(6)))
        harness.advance(to: 6)
        let notice = try #require(harness.takeDeliveries().first)
        return (harness, notice)
    }

    private func failed(_ notice: Delivery, _ status: Int?, attempts: Int = 5) -> TransportAnswer {
        TransportAnswer(notice.id, .failed, status: status, reason: "busy", attempts: attempts)
    }

    @Test func `the notice of a retired device has all that a backend needs to forget the device's token`() throws {
        let (_, notice) = try harness()
        #expect(notice.transport == "retired" && notice.id == .init(push: 2, device: "mac", retired: at(5)))
        let id = try #require(try member("id", of: notice.text))
        #expect(
            notice.text
                == #"{"id":"\#(id)","type":"device.retired","timestamp":"1970-01-01T00:00:05.000001Z","data":{"#
                + #""container":"iCloud.Notes","environment":"development","user":"_alice","device":"mac","#
                + #""transport":"apns","token":"6a0f","topic":"com.example.Notes","status":410,"#
                + #""reason":"Unregistered","since":"1970-01-01T00:00:06Z","registered":"1970-01-01T00:00:05Z","#
                + #""push":2}}"#)
    }

    @Test func `a notice ends in one outcome`() throws {
        var (harness, notice) = try harness()
        harness.answer(TransportAnswer(notice.id, .accepted, status: 204))
        let id = try #require(try member("id", of: notice.text))
        #expect(
            harness.outcomes.last
                == #"{"type":"notice.outcome","of":"device.retired","push":2,"container":"iCloud.Notes","#
                + #""environment":"development","user":"_alice","device":"mac","transport":"apns","#
                + #""webhook-id":"\#(id)","outcome":"accepted","status":204,"attempts":1,"#
                + #""registered":"1970-01-01T00:00:05Z"}"#)
        #expect(try harness.takeSummary() == ["unregistered 2 mac", "device.retired 2 mac", "accepted 2 mac"])
        #expect(harness.stage.pending.isEmpty && harness.stage.deadline == nil)
        #expect(!harness.stage.registry.apps[0].hasAccepted, "the answer came from a backend, not from APNs")
    }

    @Test(arguments: [nil, 408, 429, 500, 503])
    func `a notice to a failing backend is retried with the same id at growing intervals`(status: Int?) throws {
        var (harness, notice) = try harness()
        var times: [Int64] = []
        for second in Int64(6)..<86_000 {
            harness.advance(to: second)
            for again in second == 6 ? [notice] : harness.takeDeliveries() {
                #expect(again == notice && again.attempts == times.count * 5)
                times.append(second)
                harness.answer(failed(again, status))
            }
        }
        #expect(times.prefix(10) == [6, 7, 9, 13, 21, 37, 69, 133, 261, 517])
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 <= 3_601 } && times.count > 30)
        #expect(harness.outcomes.dropFirst(2).allSatisfy { $0.hasPrefix(#"{"type":"notice.attempt","of":"#) })
        let attempt = try #require(harness.outcomes.dropFirst(2).first)
        #expect(attempt.contains(#""outcome":"deferred","answer":"failed","#) && attempt.contains(#""until":"#))
        harness.advance(to: 86_500)
        #expect(harness.outcomes.last?.contains(#""outcome":"failed","answer":"none","#) == true)
        #expect(harness.outcomes.last?.hasPrefix(#"{"type":"notice.outcome","#) == true)
        #expect(harness.stage.pending.isEmpty)
    }

    @Test(arguments: [(400, 1), (410, 2), (302, 1), (nil, 0)] as [(Int?, Int)])
    func `a notice that is rejected, or fails without an attempt, is not retried`(status: Int?, attempts: Int) throws {
        var (harness, notice) = try harness()
        harness.answer(failed(notice, status, attempts: attempts))
        #expect(harness.outcomes.last?.hasPrefix(#"{"type":"notice.outcome","of":"#) == true)
        #expect(try harness.takeSummary().last == "failed 2 mac")
        #expect(harness.stage.pending.isEmpty)
    }

    @Test func `a deferred notice is retried at the time that the transport names`() throws {
        var (harness, notice) = try harness()
        harness.answer(TransportAnswer(notice.id, .deferred, attempts: 0, until: at(40)))
        harness.advance(to: 39)
        #expect(harness.deliveries.isEmpty)
        harness.advance(to: 40)
        #expect(harness.takeDeliveries() == [notice])
    }

    @Test func `a device that is retired again gets another notice`() throws {
        var (harness, first) = try harness()
        harness.answer(failed(first, 503))
        harness.advance(to: 20)
        _ = harness.takeDeliveries()
        harness.answer(failed(first, 503))
        try harness.feed(register("mac", token: "77b1"), push())
        let push = try #require(harness.takeDeliveries().first)
        harness.answer(TransportAnswer(push.id, .unregistered, status: 410, since: at(30)))
        harness.advance(to: 21)
        let second = try #require(harness.takeDeliveries().first)
        #expect(
            try second.text.contains(#""token":"77b1""#)
                && member("id", of: second.text) != member("id", of: first.text))
        #expect(
            harness.state("pending").contains(#"{"push":2,"notice":"device.retired","user":"_alice","device":"mac","#))
    }

    @Test func `waiting notices survive a restart, and end if the setting is removed`() throws {
        var (harness, notice) = try harness()
        harness.answer(failed(notice, 503))
        var same = try harness.restarted(settings: Self.settings)
        same.advance(to: 7)
        #expect(same.takeDeliveries() == [notice])
        var without = try harness.restarted(settings: "transports: {apns: {use: file}}")
        without.advance(to: 7)
        #expect(without.deliveries.isEmpty)
        #expect(try without.takeSummary() == ["unknown_transport 2 mac"])
    }

    @Test func `a notice beyond the limit of waiting pushes fails with the limit as its reason`() throws {
        var harness = try DeliverHarness(settings: Self.settings + "pendingMax: 0")
        try harness.feed(register("mac"), push())
        let push = try #require(harness.takeDeliveries().first)
        harness.answer(TransportAnswer(push.id, .unregistered, since: at(6)))
        harness.advance(to: 7)
        #expect(harness.deliveries.isEmpty)
        #expect(harness.outcomes.last?.contains(#""outcome":"failed","answer":"none","reason":"0 pushes wait"#) == true)
    }

    @Test func `each answer to a notice can be read from the event that records it`() throws {
        for status in [204, 503, 400] {
            var (harness, notice) = try harness()
            let given = TransportAnswer(
                notice.id, status == 204 ? .accepted : .failed, status: status, reason: "r", attempts: 2)
            harness.answer(given)
            var read = try #require(try Self.recorded(harness.outcomes.last ?? ""))
            (read.receivedAt, read.until) = (nil, nil)
            #expect(read == given)
        }
    }

    private static func recorded(_ line: String) throws -> TransportAnswer? {
        try InputEvent.read(line, sequence: 1) { DeliverStage.answer(recordedIn: $0) }
    }

    @Test func `a transport named retired is an error if the file also has the setting retired`() throws {
        let text = "transports: {retired: {use: file}}\nretired: {url: x}"
        let reader = try SettingsReader(text: text, file: "p.yaml")
        let error = #expect(throws: PipelineFileError.self) { try reader.decode(DeliverSettings.self) }
        let found = "p.yaml:2:10: retired: a transport also has the name \"retired\""
        #expect(error?.description.hasPrefix(found) == true)
    }
}
