import PipelineKit
import Testing
import Time

@testable import Deliver

/// Waiting pushes. Times are seconds since 1970.
@Suite struct PendingTests {
    /// A harness with one device, and one push handed out to it at second 1.
    private func harness(_ settings: String = "", _ push: String = push()) throws -> (DeliverHarness, Delivery) {
        var harness = try DeliverHarness(settings: "transports: {apns: {use: file}}\n" + settings)
        try harness.feed(register("mac"), push)
        let delivery = try #require(harness.takeDeliveries().first)
        return (harness, delivery)
    }

    private func deferred(_ delivery: Delivery, until second: Int64, attempts: Int = 1) -> TransportAnswer {
        TransportAnswer(
            delivery.id, .deferred, status: 503, reason: "Shutdown", attempts: attempts,
            until: Instant(microseconds: second * 1_000_000))
    }

    @Test func `a deferred push waits, and goes out again under the same apns-id`() throws {
        var (harness, delivery) = try harness()
        harness.answer(deferred(delivery, until: 10, attempts: 2))
        #expect(harness.outcomes.count == 1)
        let event = try #require(harness.outcomes.first)
        #expect(event.hasPrefix(#"{"type":"attempt","push":2,"notificationID":"n-1","user":"_alice","device":"mac","#))
        #expect(
            event.hasSuffix(
                #""outcome":"deferred","status":503,"reason":"Shutdown","attempts":2,"until":"1970-01-01T00:00:10Z","#
                    + #""at":"1970-01-01T00:00:01Z","causes":[{"log":"changes","sequence":17}]}"#))
        harness.advance(to: 9)
        #expect(harness.deliveries.isEmpty)
        harness.advance(to: 10)
        #expect(harness.takeDeliveries() == [delivery])
    }

    @Test func `the attempts of a push add up, and a possible repeat is recorded`() throws {
        var (harness, delivery) = try harness()
        var answer = deferred(delivery, until: 10, attempts: 2)
        answer.mayRepeat = true
        harness.answer(answer)
        harness.advance(to: 10)
        harness.answer(TransportAnswer(delivery.id, .accepted, status: 200, attempts: 3))
        let outcome = try #require(harness.outcomes.last)
        #expect(outcome.contains(#""outcome":"accepted","status":200,"attempts":5,"tries":3,"repeat_possible":true"#))
        #expect(harness.stage.pending.isEmpty && harness.stage.deadline == nil)
    }

    @Test func `a push that is expired when it comes is not sent`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push(expiration: 1))
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary() == ["expired 2 mac"])
    }

    @Test func `an expired push is sent if the settings say so`() throws {
        let (_, delivery) = try harness("expired: send", push(expiration: 1))
        #expect(delivery.id.push == 2)
    }

    @Test func `a waiting push expires at its time without asking a transport`() throws {
        var (harness, delivery) = try harness("", push(expiration: 20))
        harness.answer(deferred(delivery, until: 100))
        harness.advance(to: 19)
        #expect(harness.outcomes.count == 1)
        harness.advance(to: 20)
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary() == ["deferred 2 mac", "expired 2 mac"])
    }

    @Test(arguments: [(0, ["deferred 2 mac"]), (1, ["expired 2 mac"])])
    func `an expiration of 0 ends a deferred push, unless the transport made no attempt`(
        attempts: Int, summary: [String]
    ) throws {
        var (harness, delivery) = try harness("", push(expiration: 0))
        harness.answer(deferred(delivery, until: 100, attempts: attempts))
        #expect(try harness.takeSummary() == summary)
    }

    @Test func `a newer push with the same collapse ID replaces a waiting push`() throws {
        var (harness, delivery) = try harness()
        harness.answer(deferred(delivery, until: 100))
        try harness.feed(push(collapseID: "other"), push())
        for delivery in harness.takeDeliveries() { harness.answer(TransportAnswer(delivery.id, .accepted)) }
        #expect(harness.outcomes.contains { $0.contains(#""outcome":"superseded","by":4,"#) })
        #expect(
            try harness.takeSummary() == ["deferred 2 mac", "accepted 3 mac", "superseded 2 mac", "accepted 4 mac"])
        harness.advance(to: 200)
        #expect(harness.deliveries.isEmpty)
    }

    @Test func `a push that waited too long ends with its last status and reason`() throws {
        var (harness, delivery) = try harness("retryFor: 1m")
        harness.answer(deferred(delivery, until: 50))
        harness.advance(to: 50)
        harness.answer(deferred(try #require(harness.takeDeliveries().first), until: 1_000))
        harness.advance(to: 60)
        #expect(try harness.takeSummary() == ["deferred 2 mac", "deferred 2 mac"])
        harness.advance(to: 61)
        #expect(
            harness.outcomes.last?.contains(#""failed","answer":"none","status":503,"reason":"Shutdown","attempts":2"#)
                == true)
    }

    @Test func `pushes beyond the limit of waiting pushes fail with the limit as their reason`() throws {
        var harness = try DeliverHarness(settings: "transports: {apns: {use: file}}\npendingMax: 1")
        try harness.feed(register("mac"), register("pad"), push())
        for delivery in harness.takeDeliveries() { harness.answer(deferred(delivery, until: 10)) }
        #expect(
            harness.outcomes.last?.contains(
                #""reason":"1 pushes wait already, the limit in pendingMax","said":"Shutdown""#)
                == true)
        #expect(try harness.takeSummary() == ["deferred 3 mac", "failed 3 pad"])
    }

    @Test
    func `the state pending has a line for each waiting push, and the state devices has their number for each device`()
        throws
    {
        var (harness, delivery) = try harness()
        harness.answer(deferred(delivery, until: 10, attempts: 2))
        let (pending, devices) = (harness.state("pending"), harness.state("devices"))
        #expect(pending.hasPrefix(#"{"push":2,"user":"_alice","device":"mac","transport":"apns","apns-id":""#))
        #expect(
            pending.hasSuffix(
                #""waits":"deferred","status":503,"reason":"Shutdown","attempts":2,"came":"1970-01-01T00:00:01Z","#
                    + #""due":"1970-01-01T00:00:10Z"}"# + "\n"))
        #expect(devices.hasSuffix(#","pending":1}"# + "\n"))
    }

    @Test func `pushes that are due in the same second go out together, in order`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push(collapseID: nil), push(collapseID: nil), push(collapseID: nil))
        for (delivery, part) in zip(harness.takeDeliveries(), [Int64(900_000), 100_000, 500_000]) {
            var answer = deferred(delivery, until: 0)
            answer.until = Instant(microseconds: 20_000_000 + part)
            harness.answer(answer)
        }
        harness.advance(to: 21)
        #expect(harness.takeDeliveries().map(\.id.push) == [2, 3, 4])
    }
}

/// Answers that retire devices or stop apps.
@Suite struct RefusalTests {
    private func at(_ second: Int64) -> Instant { Instant(microseconds: second * 1_000_000) }

    private func answerAll(
        _ harness: inout DeliverHarness, _ outcome: TransportAnswer.Outcome, since: Instant? = nil
    ) {
        for delivery in harness.takeDeliveries() {
            harness.answer(TransportAnswer(delivery.id, outcome, status: 410, reason: "Unregistered", since: since))
        }
    }

    @Test func `a token that became invalid after its registration retires its device`() throws {
        var harness = try DeliverHarness()
        harness.advance(to: 5)
        try harness.feed(register("mac"), push())
        answerAll(&harness, .unregistered, since: at(6))
        #expect(
            harness.outcomes[0].contains(
                #""since":"1970-01-01T00:00:06Z","registered":"1970-01-01T00:00:05Z","at":"1970-01-01T00:00:05Z""#))
        harness.advance(to: 6)
        #expect(
            harness.outcomes[1]
                == #"{"type":"device.retired","container":"iCloud.Notes","environment":"development","user":"_alice","#
                + #""device":"mac","transport":"apns","topic":"com.example.Notes","status":410,"#
                + #""reason":"Unregistered","since":"1970-01-01T00:00:06Z","registered":"1970-01-01T00:00:05Z","#
                + #""push":2}"#)
        try harness.feed(push(), register("mac"), push())
        #expect(try harness.takeSummary() == ["unregistered 2 mac", "device.retired 2 mac", "no_device 3"])
        #expect(harness.takeDeliveries().map(\.id.push) == [5])
    }

    @Test
    func `an answer without a time retires even a device whose registration has the same time as the answer`() throws {
        var harness = try DeliverHarness()
        harness.advance(to: 5)
        try harness.feed(register("mac"), push())
        answerAll(&harness, .unregistered)
        let outcome = try #require(harness.outcomes.first)
        #expect(outcome.contains(#""registered":"1970-01-01T00:00:05Z","at":"1970-01-01T00:00:05Z""#))
        #expect(!outcome.contains("since"))
        harness.advance(to: 6)
        #expect(
            harness.outcomes.last?.contains(#""since":"1970-01-01T00:00:05Z","registered":"1970-01-01T00:00:05Z""#)
                == true)
        #expect(try harness.takeSummary() == ["unregistered 2 mac", "device.retired 2 mac"])
        try harness.feed(register("mac"))
        harness.advance(to: 7)
        try harness.feed(push())
        answerAll(&harness, .unregistered)
        #expect(harness.outcomes.last?.contains(#""since":"1970-01-01T00:00:07Z""#) == true)
        harness.advance(to: 8)
        #expect(try harness.takeSummary() == ["unregistered 4 mac", "device.retired 4 mac"])
    }

    @Test func `an answer with the registration's time, as in logs of earlier versions, retires no device`() throws {
        var harness = try DeliverHarness()
        harness.advance(to: 5)
        try harness.feed(register("mac"), push())
        answerAll(&harness, .unregistered, since: at(5))
        #expect(harness.outcomes[0].contains(#""since":"1970-01-01T00:00:05Z","registered":"1970-01-01T00:00:05Z""#))
        harness.advance(to: 6)
        #expect(try harness.takeSummary() == ["unregistered 2 mac"])
    }

    @Test func `a token that was already invalid at its registration retires its device only a day later`() throws {
        var harness = try DeliverHarness()
        harness.advance(to: 5)
        try harness.feed(register("mac"), push())
        answerAll(&harness, .unregistered, since: at(4))
        harness.advance(to: 86_404)
        try harness.feed(push())
        answerAll(&harness, .unregistered, since: at(4))
        harness.advance(to: 86_405)
        try harness.feed(push())
        answerAll(&harness, .unregistered, since: at(4))
        harness.advance(to: 86_406)
        #expect(
            try harness.takeSummary() == [
                "unregistered 2 mac", "unregistered 3 mac", "unregistered 4 mac", "device.retired 4 mac",
            ])
    }

    @Test func `a device that registers again before it is retired remains`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push())
        answerAll(&harness, .unregistered, since: at(1_000))
        try harness.feed(register("mac", token: "new"))
        harness.advance(to: 5)
        try harness.feed(push())
        #expect(harness.takeDeliveries().count == 1)
        #expect(try harness.takeSummary() == ["unregistered 2 mac"])
    }

    @Test func `an unknown address retires its device only if the transport has accepted a push of the app`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("pad"), push())
        let deliveries = harness.takeDeliveries()
        harness.answer(TransportAnswer(deliveries[0].id, .unknownAddress, status: 400, reason: "BadDeviceToken"))
        harness.answer(TransportAnswer(deliveries[1].id, .failed))
        harness.advance(to: 2)
        #expect(try harness.takeSummary() == ["failed 3 mac", "failed 3 pad"])
        try harness.feed(push())
        let later = harness.takeDeliveries()
        #expect(later.map(\.id.device) == ["mac", "pad"])
        harness.answer(TransportAnswer(later[0].id, .unknownAddress, status: 400, reason: "BadDeviceToken"))
        harness.answer(TransportAnswer(later[1].id, .accepted))
        harness.advance(to: 3)
        #expect(try harness.takeSummary() == ["failed 4 mac", "accepted 4 pad", "device.retired 3 mac"])
        try harness.feed(push())
        answerAll(&harness, .unknownAddress)
        harness.advance(to: 4)
        #expect(try harness.takeSummary() == ["unregistered 5 pad", "device.retired 5 pad"])
    }

    @Test func `twenty unknown addresses stop the app if no push was accepted`() throws {
        var harness = try DeliverHarness()
        for number in 0..<20 { try harness.feed(register("d\(number)")) }
        try harness.feed(push())
        answerAll(&harness, .unknownAddress)
        harness.advance(to: 2)
        #expect(harness.outcomes.last?.contains("is the environment or the topic wrong?") == true)
        #expect(try harness.takeSummary().last == "app.stopped")
        try harness.feed(push())
        #expect(harness.takeDeliveries().isEmpty)
        harness.advance(to: 62)
        let probe = try #require(harness.takeDeliveries().first)
        harness.answer(TransportAnswer(probe.id, .accepted))
        harness.advance(to: 63)
        let summary = try harness.takeSummary()
        #expect(summary.count { $0.hasPrefix("held 22") } == 20)
        #expect(!summary.contains { $0.hasPrefix("device.retired") }, "the probe went to one of the unknown addresses")
        #expect(summary.contains("app.resumed"))
    }

    @Test func `the operator gets one message when all devices are unknown and one when a push is accepted`() throws {
        var harness = try DeliverHarness()
        for number in 0..<25 { try harness.feed(register("d\(number)")) }
        try harness.feed(push())
        answerAll(&harness, .unknownAddress)
        #expect(harness.operatorMessages == [])
        harness.advance(to: 2)
        let app = "apns: iCloud.Notes development com.example.Notes"
        #expect(harness.operatorMessages.count == 1)
        #expect(
            harness.operatorMessages.first?.hasPrefix(
                "\(app): Belfry stops sending: the push service does not know 20 devices")
                == true)
        let found = harness.stage.findings(of: "out")
        let what = "out: apns rejects every push of iCloud.Notes development com.example.Notes: "
        #expect(found.count == 1 && found[0].code == "app.stopped" && found[0].text.hasPrefix(what), "\(found)")
        #expect(found[0].fix?.hasPrefix("the transport has not accepted a push of this app yet. Compare") == true)
        try harness.feed(push())
        harness.advance(to: 62)
        answerAll(&harness, .unknownAddress)
        harness.advance(to: 63)
        #expect(harness.operatorMessages.count == 1)
        harness.advance(to: 200)
        answerAll(&harness, .accepted)
        harness.advance(to: 201)
        #expect(
            harness.operatorMessages.dropFirst() == [
                "\(app): the transport accepted a push, so the app's pushes are sent again"
            ])
    }

    @Test func `if a transport stops an app, the stage reports a finding, but sends the operator no message`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push())
        answerAll(&harness, .stopped)
        harness.advance(to: 2)
        let fix = "belfry doctor apns says what is wrong; app.stopped in the log of out has the transport's answer"
        #expect(harness.stage.findings(of: "out").map(\.fix) == [fix])
        #expect(harness.operatorMessages == [])
    }

    @Test func `the finding of a stopped app says when the next push is tried, or that a push is being tried`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push())
        answerAll(&harness, .stopped)
        harness.advance(to: 2)
        func finding() -> String { harness.stage.findings(of: "out").map(\.text).joined(separator: "\n") }
        #expect(finding().hasSuffix("1 push waiting, next try at 1970-01-01T00:01:01.000001Z"))
        harness.advance(to: 62)
        #expect(finding().hasSuffix("0 pushes waiting, one push is being tried"))
        harness.answer(TransportAnswer(.init(push: 2, device: "mac"), .stopped, status: 403))
        harness.advance(to: 63)
        try harness.feed(unregister("mac"))
        harness.advance(to: 1_000)
        #expect(finding().hasSuffix("0 pushes waiting, the next push is tried at once"))
    }

    @Test func `a stopped app is probed at growing intervals, and continues where it stopped`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("pad", topic: "other"), push(collapseID: nil))
        for delivery in harness.takeDeliveries() {
            let isMac = delivery.id.device == "mac"
            harness.answer(TransportAnswer(delivery.id, isMac ? .stopped : .accepted, status: 403, reason: "Forbidden"))
        }
        harness.advance(to: 2)
        #expect(
            harness.outcomes.last
                == #"{"type":"app.stopped","container":"iCloud.Notes","environment":"development","transport":"apns","#
                + #""topic":"com.example.Notes","status":403,"reason":"Forbidden","#
                + #""probeAt":"1970-01-01T00:01:01.000001Z"}"#)
        try harness.feed(push(collapseID: nil))
        #expect(harness.takeDeliveries().map(\.id.device) == ["pad"])
        harness.answer(TransportAnswer(.init(push: 4, device: "pad"), .accepted))
        #expect(
            try harness.takeSummary() == [
                "held 3 mac", "accepted 3 pad", "app.stopped", "held 4 mac", "accepted 4 pad",
            ])
        var probes: [Int64] = []
        for second in stride(from: Int64(62), through: 10_000, by: 1) {
            harness.advance(to: second)
            for delivery in harness.takeDeliveries() {
                #expect(delivery.id == .init(push: 3, device: "mac"))
                probes.append(second)
                harness.answer(TransportAnswer(delivery.id, .stopped, status: 403))
            }
        }
        #expect(probes == [62, 183, 424, 905, 1_866, 3_787, 7_388])
        harness.advance(to: 11_100)
        let probe = try #require(harness.takeDeliveries().first)
        harness.answer(TransportAnswer(probe.id, .accepted))
        _ = try harness.takeSummary()
        harness.advance(to: 11_200)
        #expect(harness.takeDeliveries().map(\.id) == [.init(push: 4, device: "mac")])
        #expect(try harness.takeSummary() == ["app.resumed"])
    }

    @Test func `held pushes go out in parts of bounded size`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push(collapseID: nil))
        answerAll(&harness, .stopped)
        harness.advance(to: 2)
        let long = push(collapseID: nil).replacing(
            #""alert":"Hi""#, with: #""alert":"\#(String(repeating: "x", count: 3_000))""#)
        for _ in 0..<1_000 { try harness.feed(long) }
        harness.advance(to: 62)
        answerAll(&harness, .accepted)
        var parts: [[UInt64]] = []
        for _ in 0..<10 {
            harness.wakeOnce()
            let part = harness.takeDeliveries()
            parts.append(part.map(\.id.push))
            for delivery in part { harness.answer(TransportAnswer(delivery.id, .accepted)) }
        }
        #expect(parts.allSatisfy { $0.count < 400 })
        #expect(parts.flatMap(\.self) == Array(3...1_002))
    }

    @Test func `new settings of the transport release the held pushes`() throws {
        var harness = try DeliverHarness(settings: "transports: {apns: {use: file, path: a}}")
        try harness.feed(register("mac"), push())
        answerAll(&harness, .stopped)
        harness.advance(to: 2)
        let same = try harness.restarted(settings: "transports: {apns: {use: file, path: a}}")
        #expect(same.stage.deadline == at(61).advanced(by: .microseconds(1)))
        var other = try harness.restarted(settings: "transports: {apns: {use: file, path: b}}")
        other.advance(to: 4)
        #expect(other.deliveries.map(\.id) == [.init(push: 2, device: "mac")])
    }
}
