import PipelineKit
import Synchronization
import TestSupport
import Testing

@testable import PipelineRuntime

/// Pushes are sent as soon as there is room for them.
@Suite struct TransportDispatcherTests {
    @Test func `a push is sent as soon as another is answered`() {
        let route = RecordedRoute(room: 2)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a"), push(2, "b"), push(3, "c"), push(4, "d")])
        dispatcher.dispatch()
        #expect(route.sent == ["1 a", "2 b"])
        dispatcher.answer(push(2, "b"))
        dispatcher.dispatch()
        #expect(route.sent == ["1 a", "2 b", "3 c"])
        #expect(!dispatcher.isResting && !dispatcher.isIdle)
    }

    @Test func `an answered push keeps its room until the host has taken the answer`() {
        let route = RecordedRoute(room: 1)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a"), push(2, "b")])
        dispatcher.dispatch()
        dispatcher.collect([TransportAnswer(push(1, "a").id, .accepted)], from: "apns")
        dispatcher.dispatch()
        #expect(route.sent == ["1 a"])
        #expect(dispatcher.takeAnswers().count == 1)
        dispatcher.dispatch()
        #expect(route.sent == ["1 a", "2 b"])
    }

    @Test func `a transport that answers whole batches gets one batch at a time`() {
        let route = RecordedRoute(room: 3, isContinuous: false)
        let dispatcher = TransportDispatcher(routes: ["file": route.route])
        dispatcher.append((1...5).map { push($0, "a", to: "file") })
        dispatcher.dispatch()
        #expect(route.sent == ["1 a", "2 a", "3 a"])
        dispatcher.answer(push(1, "a"), from: "file")
        dispatcher.dispatch()
        #expect(route.sent.count == 3)
        dispatcher.answer(push(2, "a"), from: "file")
        dispatcher.answer(push(3, "a"), from: "file")
        dispatcher.dispatch()
        #expect(route.sent.suffix(2) == ["4 a", "5 a"])
    }

    @Test func `a device's pushes are sent in order and use only the device's part of the room`() {
        let route = RecordedRoute(room: 32)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append((1...10).map { push($0, "slow") } + (11...40).map { push($0, "d\($0)") })
        dispatcher.dispatch()
        #expect(route.sent.filter { $0.hasSuffix("slow") } == ["1 slow", "2 slow"])
        #expect(route.sent.count == 32)
        dispatcher.answer(push(1, "slow"))
        dispatcher.dispatch()
        #expect(route.sent.last == "3 slow")
    }

    @Test func `a transport can hold back a device's other pushes until a deferred push has its last answer`() {
        let route = RecordedRoute(room: 4, perDevice: 1)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "slow"), push(2, "slow"), push(3, "a")])
        dispatcher.dispatch()
        var deferred = TransportAnswer(push(1, "slow").id, .deferred)
        deferred.isUnderWay = true
        dispatcher.collect([deferred], from: "apns")
        _ = dispatcher.takeAnswers()
        dispatcher.append([push(4, "b")])
        dispatcher.dispatch()
        #expect(route.sent == ["1 slow", "3 a", "4 b"])
        dispatcher.append([push(1, "slow")])
        dispatcher.dispatch()
        #expect(route.sent.last == "1 slow", "the status query waited behind other pushes")
        dispatcher.answer(push(1, "slow"))
        dispatcher.dispatch()
        #expect(route.sent.last == "2 slow")
    }

    @Test func `a push that got its last answer is not sent over the transport to which its device has moved`() {
        let routes = (old: RecordedRoute(room: 1), new: RecordedRoute(room: 1))
        let dispatcher = TransportDispatcher(routes: ["old": routes.old.route, "new": routes.new.route])
        dispatcher.append([push(1, "a", to: "old"), push(2, "b", to: "new")])
        dispatcher.dispatch()
        var deferred = TransportAnswer(push(1, "a").id, .deferred)
        deferred.isUnderWay = true
        dispatcher.collect([deferred], from: "old")
        _ = dispatcher.takeAnswers()
        dispatcher.append([push(1, "a", to: "new")])
        dispatcher.answer(push(1, "a"), from: "old")
        dispatcher.answer(push(2, "b"), from: "new")
        dispatcher.dispatch()
        #expect(routes.new.sent == ["2 b"])
        #expect(dispatcher.isIdle)
    }

    @Test func `a push that got its last answer needs no status query`() {
        let route = RecordedRoute(room: 1)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a")])
        dispatcher.dispatch()
        var deferred = TransportAnswer(push(1, "a").id, .deferred)
        deferred.isUnderWay = true
        dispatcher.collect([deferred], from: "apns")
        _ = dispatcher.takeAnswers()
        dispatcher.append([push(1, "a"), push(2, "b"), push(3, "c")])
        dispatcher.answer(push(1, "a"))
        dispatcher.dispatch()
        #expect(route.sent == ["1 a", "2 b"])
    }

    @Test
    func `an app without answers has room for one push while another app's pushes wait, then for an equal share`() {
        let route = RecordedRoute(room: 10)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append(
            (1...20).flatMap { [push($0, "s\($0)", app: "slow"), push(100 + $0, "f\($0)", app: "fast")] })
        let sent = { (app: String) in route.sent.count { $0.contains(" \(app)") } }
        dispatcher.dispatch()
        #expect(sent("s") == 1 && sent("f") == 1)
        var answered: UInt64 = 0
        while answered < 20 {
            let last = UInt64(sent("f"))
            for number in answered + 1...last { dispatcher.answer(push(100 + number, "f\(number)", app: "fast")) }
            answered = last
            #expect(sent("s") == 1)
            dispatcher.dispatch()
        }
        dispatcher.dispatch()
        #expect(sent("s") == 5)
    }

    @Test func `a full channel does not delay the pushes of another channel`() {
        let route = RecordedRoute(room: 2, channels: ["one": 1, "two": 2])
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append(
            (1...4).map { push($0, "a\($0)", app: "one") } + (5...8).map { push($0, "b\($0)", app: "two") })
        dispatcher.dispatch()
        #expect(Set(route.sent) == ["1 a1", "2 a2", "5 b5", "6 b6"])
    }

    @Test func `a push service that does not answer gets status queries at once and a push only after some seconds`() {
        let (route, clock) = (RecordedRoute(room: 2, isSilent: true), ManualClock())
        let dispatcher = TransportDispatcher(routes: ["apns": route.route], monotonicNow: { clock.now.withLock { $0 } })
        dispatcher.append([push(1, "a")])
        dispatcher.dispatch()
        #expect(route.sent.isEmpty)
        var query = push(2, "b")
        query.isStatusQuery = true
        dispatcher.append([query])
        dispatcher.dispatch()
        #expect(route.sent == ["2 b"])
        clock.now.withLock { $0 += .seconds(9) }
        dispatcher.dispatch()
        #expect(route.sent == ["2 b", "1 a"])
    }

    @Test func `a transport with room for no push still gets one at a time`() {
        let route = RecordedRoute(room: 0)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a"), push(2, "b")])
        dispatcher.dispatch()
        #expect(route.sent == ["1 a"])
    }

    @Test func `pushes that cannot be noted in the journal are sent later, those of one device in order`() {
        let route = RecordedRoute(room: 2)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a"), push(2, "a"), push(3, "b")])
        dispatcher.putBack(dispatcher.next())
        dispatcher.dispatch()
        #expect(route.sent.first == "1 a" && route.sent.count == 2)
        dispatcher.answer(push(1, "a"))
        dispatcher.dispatch()
        #expect(route.sent.last == "2 a")
    }

    @Test func `a push that is withdrawn before it is sent gets the answer of the withdrawal`() {
        let route = RecordedRoute(room: 1)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a"), push(2, "b"), push(3, "c")])
        dispatcher.dispatch()
        dispatcher.withdraw(
            [1, 3].map { TransportAnswer(push($0, $0 == 1 ? "a" : "c").id, .unregistered, attempts: 0) })
        #expect(dispatcher.takeAnswers().map(\.id.push) == [3])
        dispatcher.answer(push(1, "a"))
        dispatcher.dispatch()
        dispatcher.answer(push(2, "b"))
        #expect(route.sent == ["1 a", "2 b"] && dispatcher.isIdle)
    }

    @Test func `after the answer that a device is unregistered, no push is sent until the host has taken the answer`() {
        let route = RecordedRoute(room: 2)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a"), push(2, "a")])
        dispatcher.collect([TransportAnswer(push(9, "a").id, .unregistered)], from: "apns")
        dispatcher.dispatch()
        #expect(route.sent.isEmpty)
        _ = dispatcher.takeAnswers()
        dispatcher.dispatch()
        #expect(!route.sent.isEmpty)
    }

    @Test func `the last answer to a deferred push is taken only once`() {
        let route = RecordedRoute(room: 1)
        let dispatcher = TransportDispatcher(routes: ["apns": route.route])
        dispatcher.append([push(1, "a")])
        dispatcher.dispatch()
        var deferred = TransportAnswer(push(1, "a").id, .deferred)
        deferred.isUnderWay = true
        dispatcher.collect([deferred], from: "apns")
        #expect(dispatcher.takeAnswers() == [deferred])
        for count in [1, 0] {
            dispatcher.collect([TransportAnswer(push(1, "a").id, .accepted)], from: "apns")
            #expect(dispatcher.takeAnswers().count == count)
        }
        #expect(dispatcher.takeComplaints().isEmpty)
    }

    @Test func `an answer to a push that the transport does not have is reported and ignored`() {
        let dispatcher = TransportDispatcher(routes: ["apns": RecordedRoute(room: 1).route])
        dispatcher.append([push(1, "a")])
        dispatcher.dispatch()
        let accepted = TransportAnswer(push(1, "a").id, .accepted)
        dispatcher.collect([accepted, accepted, TransportAnswer(push(7, "z").id, .accepted)], from: "apns")
        #expect(dispatcher.takeAnswers() == [accepted])
        let complaints = dispatcher.takeComplaints()
        #expect(complaints.count == 2 && complaints.allSatisfy { $0.contains("transport apns") })
    }

    @Test func `a push without an answer fails with a reason that names the transport`() async throws {
        let dispatcher = TransportDispatcher(["forgetful": OpenTransport(transport: ForgetfulTransport())])
        let (came, signal) = AsyncStream.makeStream(of: Void.self)
        let work = Task { await dispatcher.work { signal.yield() } }
        dispatcher.append([push(1, "a", to: "forgetful"), push(2, "a", to: "forgetful")])
        dispatcher.dispatch()
        for await _ in came { break }
        let answers = dispatcher.takeAnswers()
        #expect(answers.map(\.outcome) == [.accepted, .failed])
        #expect(answers.last?.reason == "transport forgetful gave no answer")
        dispatcher.stop()
        await work.value
    }

    @Test func `a push to an unknown transport fails at once`() {
        let dispatcher = TransportDispatcher(routes: [:])
        dispatcher.append([push(1, "a", to: "gone")])
        #expect(dispatcher.takeAnswers().map(\.reason) == ["the pipeline has no transport gone"])
    }

    @Test func `the stage takes no input while too many pushes wait, and the limit for several apps is higher`() {
        let dispatcher = TransportDispatcher(routes: ["apns": RecordedRoute(room: 1).route])
        dispatcher.append((1...4_097).map { push($0, "a", app: "one") })
        #expect(!dispatcher.hasRoom)
        dispatcher.append([push(5_000, "b", app: "two")])
        #expect(dispatcher.hasRoom)
        dispatcher.append((6_000...20_000).map { push($0, "a", app: "one") })
        #expect(!dispatcher.hasRoom)
    }

    @Test func `the stage takes no input while many apps together have too many waiting pushes`() {
        let dispatcher = TransportDispatcher(routes: ["apns": RecordedRoute(room: 1).route])
        dispatcher.append((1...16_000).map { push($0, "a", app: "app \($0 % 100)") })
        #expect(dispatcher.hasRoom)
        dispatcher.append((16_001...16_384).map { push($0, "a", app: "app \($0 % 100)") })
        #expect(!dispatcher.hasRoom)
    }

    private func push(
        _ number: UInt64, _ device: String, app: String = "app", to transport: String = "apns"
    ) -> Delivery {
        Delivery(
            id: .init(push: number, device: device), transport: transport,
            app: .init(container: app, environment: "production", topic: nil),
            destination: device.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }, head: Array("{}".utf8), rest: [],
            unpruned: nil)
    }
}

private final class ManualClock: Sendable {
    let now = Mutex(ContinuousClock.now)
}

private struct ForgetfulTransport: Transport {
    static let kind = "forgetful"

    init() {}
    init(_ settings: NoSettings, context: TransportContext) {}

    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        pushes.prefix(1).map { TransportAnswer($0.id, .accepted) }
    }
}

/// Records the pushes sent over a route.
private final class RecordedRoute: Sendable {
    private let handedOut = Mutex<[Delivery.ID]>([])
    private let room: Int
    private let isContinuous: Bool
    private let channels: [String: Int]
    private let perDevice: Int
    private let isSilent: Bool

    init(
        room: Int, perDevice: Int = .max, isContinuous: Bool = true, channels: [String: Int] = [:],
        isSilent: Bool = false
    ) {
        (self.room, self.perDevice, self.isContinuous) = (room, perDevice, isContinuous)
        (self.channels, self.isSilent) = (channels, isSilent)
    }

    var route: TransportQueue.Route {
        let all = channels.isEmpty ? room : room * channels.count
        var route = TransportQueue.Route(
            send: { pushes in self.handedOut.withLock { $0 += pushes.map(\.id) } }, inFlightMax: { all })
        guard isContinuous else { return route }
        route.room = { [room, perDevice, channels, isSilent] app in
            TransportRoom(
                channel: app.flatMap { channels[$0.container] } ?? 0, pushesMax: room, pushesPerDevice: perDevice,
                isSilent: isSilent)
        }
        return route
    }

    var sent: [String] { handedOut.withLock { $0.map { "\($0.push) \($0.device)" } } }
}

extension TransportDispatcher {
    fileprivate func dispatch() { for handover in next() { send(handover) } }

    fileprivate func answer(_ push: Delivery, from name: String = "apns") {
        collect([TransportAnswer(push.id, .accepted)], from: name)
        _ = takeAnswers()
    }
}
