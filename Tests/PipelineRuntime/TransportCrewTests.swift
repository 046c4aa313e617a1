import PipelineKit
import Synchronization
import TestSupport
import Testing

@testable import PipelineRuntime

/// Pushes go out as soon as there is room for them, and none waits for another's answer.
@Suite struct TransportCrewTests {
    @Test func `a push goes out as soon as another is answered`() {
        let way = RecordedWay(room: 2)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a"), push(2, "b"), push(3, "c"), push(4, "d")])
        crew.dispatch()
        #expect(way.sent == ["1 a", "2 b"])
        crew.answer(push(2, "b"))
        crew.dispatch()
        #expect(way.sent == ["1 a", "2 b", "3 c"])
        #expect(!crew.isResting && !crew.isIdle)
    }

    @Test func `an answer that nobody has taken keeps its room`() {
        let way = RecordedWay(room: 1)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a"), push(2, "b")])
        crew.dispatch()
        crew.take([TransportAnswer(push(1, "a").id, .accepted)], from: "apns")
        crew.dispatch()
        #expect(way.sent == ["1 a"])
        #expect(crew.takeAnswers().count == 1)
        crew.dispatch()
        #expect(way.sent == ["1 a", "2 b"])
    }

    @Test func `a transport without answers of their own gets batches, one at a time`() {
        let way = RecordedWay(room: 3, isContinuous: false)
        let crew = TransportDispatcher(ways: ["file": way.way])
        crew.append((1...5).map { push($0, "a", to: "file") })
        crew.dispatch()
        #expect(way.sent == ["1 a", "2 a", "3 a"])
        crew.answer(push(1, "a"), from: "file")
        crew.dispatch()
        #expect(way.sent.count == 3)
        crew.answer(push(2, "a"), from: "file")
        crew.answer(push(3, "a"), from: "file")
        crew.dispatch()
        #expect(way.sent.suffix(2) == ["4 a", "5 a"])
    }

    @Test func `a device keeps its order, and only its part of the room`() {
        let way = RecordedWay(room: 32)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append((1...10).map { push($0, "slow") } + (11...40).map { push($0, "d\($0)") })
        crew.dispatch()
        #expect(way.sent.filter { $0.hasSuffix("slow") } == ["1 slow", "2 slow"])
        #expect(way.sent.count == 32)
        crew.answer(push(1, "slow"))
        crew.dispatch()
        #expect(way.sent.last == "3 slow")
    }

    @Test func `a device whose push takes longer gets no other before its last answer, if the transport says so`() {
        let way = RecordedWay(room: 4, perDevice: 1)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "slow"), push(2, "slow"), push(3, "a")])
        crew.dispatch()
        var later = TransportAnswer(push(1, "slow").id, .deferred)
        later.isUnderWay = true
        crew.take([later], from: "apns")
        _ = crew.takeAnswers()
        crew.append([push(4, "b")])
        crew.dispatch()
        #expect(way.sent == ["1 slow", "3 a", "4 b"])
        crew.append([push(1, "slow")])
        crew.dispatch()
        #expect(way.sent.last == "1 slow", "it is asked for beside what waits")
        crew.answer(push(1, "slow"))
        crew.dispatch()
        #expect(way.sent.last == "2 slow")
    }

    @Test func `a push that is answered before it is asked for is not asked for`() {
        let way = RecordedWay(room: 1)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a")])
        crew.dispatch()
        var later = TransportAnswer(push(1, "a").id, .deferred)
        later.isUnderWay = true
        crew.take([later], from: "apns")
        _ = crew.takeAnswers()
        crew.append([push(1, "a"), push(2, "b"), push(3, "c")])
        crew.answer(push(1, "a"))
        crew.dispatch()
        #expect(way.sent == ["1 a", "2 b"])
    }

    @Test func `an app whose answers do not come has little room while others wait, and then its part`() {
        let way = RecordedWay(room: 10)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append((1...20).flatMap { [push($0, "s\($0)", app: "slow"), push(100 + $0, "f\($0)", app: "fast")] })
        let sent = { (app: String) in way.sent.count { $0.contains(" \(app)") } }
        crew.dispatch()
        #expect(sent("s") == 1 && sent("f") == 1)
        var answered: UInt64 = 0
        while answered < 20 {
            let last = UInt64(sent("f"))
            for number in answered + 1...last { crew.answer(push(100 + number, "f\(number)", app: "fast")) }
            answered = last
            #expect(sent("s") == 1)
            crew.dispatch()
        }
        crew.dispatch()
        #expect(sent("s") == 5)
    }

    @Test func `a channel that is full holds up no other`() {
        let way = RecordedWay(room: 2, channels: ["one": 1, "two": 2])
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append((1...4).map { push($0, "a\($0)", app: "one") } + (5...8).map { push($0, "b\($0)", app: "two") })
        crew.dispatch()
        #expect(Set(way.sent) == ["1 a1", "2 a2", "5 b5", "6 b6"])
    }

    @Test func `a side that does not answer is only asked for some seconds`() {
        let (way, clock) = (RecordedWay(room: 2, isSilent: true), HandClock())
        let crew = TransportDispatcher(ways: ["apns": way.way], steady: { clock.now.withLock { $0 } })
        crew.append([push(1, "a")])
        crew.dispatch()
        #expect(way.sent.isEmpty)
        var question = push(2, "b")
        question.isStatusQuery = true
        crew.append([question])
        crew.dispatch()
        #expect(way.sent == ["2 b"])
        clock.now.withLock { $0 += .seconds(9) }
        crew.dispatch()
        #expect(way.sent == ["2 b", "1 a"])
    }

    @Test func `no room counts as room for one`() {
        let way = RecordedWay(room: 0)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a"), push(2, "b")])
        crew.dispatch()
        #expect(way.sent == ["1 a"])
    }

    @Test func `what cannot be noted goes out later, in its order`() {
        let way = RecordedWay(room: 2)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a"), push(2, "a"), push(3, "b")])
        crew.putBack(crew.next())
        crew.dispatch()
        #expect(way.sent.first == "1 a" && way.sent.count == 2)
    }

    @Test func `what is taken back before it goes out has the answer that it is given`() {
        let way = RecordedWay(room: 1)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a"), push(2, "b"), push(3, "c")])
        crew.dispatch()
        crew.withdraw([1, 3].map { TransportAnswer(push($0, $0 == 1 ? "a" : "c").id, .unregistered, attempts: 0) })
        #expect(crew.takeAnswers().map(\.id.push) == [3])
        crew.answer(push(1, "a"))
        crew.dispatch()
        crew.answer(push(2, "b"))
        #expect(way.sent == ["1 a", "2 b"] && crew.isIdle)
    }

    @Test func `nothing goes out before the end of an address is taken`() {
        let way = RecordedWay(room: 2)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a"), push(2, "a")])
        crew.take([TransportAnswer(push(9, "a").id, .unregistered)], from: "apns")
        crew.dispatch()
        #expect(way.sent.isEmpty)
    }

    @Test func `a late answer counts once`() {
        let way = RecordedWay(room: 1)
        let crew = TransportDispatcher(ways: ["apns": way.way])
        crew.append([push(1, "a")])
        crew.dispatch()
        var late = TransportAnswer(push(1, "a").id, .deferred)
        late.isUnderWay = true
        crew.take([late], from: "apns")
        #expect(crew.takeAnswers() == [late])
        for count in [1, 0] {
            crew.take([TransportAnswer(push(1, "a").id, .accepted)], from: "apns")
            #expect(crew.takeAnswers().count == count)
        }
        #expect(crew.takeComplaints().isEmpty)
    }

    @Test func `an answer too many is told of, with its transport, and does not count`() {
        let crew = TransportDispatcher(ways: ["apns": RecordedWay(room: 1).way])
        crew.append([push(1, "a")])
        crew.dispatch()
        let accepted = TransportAnswer(push(1, "a").id, .accepted)
        crew.take([accepted, accepted, TransportAnswer(push(7, "z").id, .accepted)], from: "apns")
        #expect(crew.takeAnswers() == [accepted])
        let complaints = crew.takeComplaints()
        #expect(complaints.count == 2 && complaints.allSatisfy { $0.contains("transport apns") })
    }

    @Test func `a push that a transport gives no answer to fails, with the transport's name`() async throws {
        let crew = TransportDispatcher(["forgetful": OpenTransport(transport: ForgetfulTransport())])
        let (came, signal) = AsyncStream.makeStream(of: Void.self)
        let work = Task { await crew.work { signal.yield() } }
        crew.append([push(1, "a", to: "forgetful"), push(2, "a", to: "forgetful")])
        crew.dispatch()
        for await _ in came { break }
        let answers = crew.takeAnswers()
        #expect(answers.map(\.outcome) == [.accepted, .failed])
        #expect(answers.last?.reason == "transport forgetful gave no answer")
        crew.stop()
        await work.value
    }

    @Test func `a push to a transport that there is none of fails at once`() {
        let crew = TransportDispatcher(ways: [:])
        crew.append([push(1, "a", to: "gone")])
        #expect(crew.takeAnswers().map(\.reason) == ["the pipeline has no transport gone"])
    }

    @Test func `the stage takes nothing in while too much of one app waits, unless others are to go on`() {
        let crew = TransportDispatcher(ways: ["apns": RecordedWay(room: 1).way])
        crew.append((1...4_097).map { push($0, "a", app: "one") })
        #expect(!crew.hasRoom)
        crew.append([push(5_000, "b", app: "two")])
        #expect(crew.hasRoom)
        crew.append((6_000...20_000).map { push($0, "a", app: "one") })
        #expect(!crew.hasRoom)
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

private final class HandClock: Sendable {
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

/// What came through a way.
private final class RecordedWay: Sendable {
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

    var way: TransportQueue.Way {
        let all = channels.isEmpty ? room : room * channels.count
        var way = TransportQueue.Way(
            send: { pushes in self.handedOut.withLock { $0 += pushes.map(\.id) } }, inFlightMax: { all })
        guard isContinuous else { return way }
        way.room = { [room, perDevice, channels, isSilent] app in
            TransportRoom(
                channel: app.flatMap { channels[$0.container] } ?? 0, pushesMax: room, pushesPerDevice: perDevice,
                isSilent: isSilent)
        }
        return way
    }

    var sent: [String] { handedOut.withLock { $0.map { "\($0.push) \($0.device)" } } }
}

extension TransportDispatcher {
    fileprivate func dispatch() { for handover in next() { send(handover) } }

    fileprivate func answer(_ push: Delivery, from name: String = "apns") {
        take([TransportAnswer(push.id, .accepted)], from: name)
        _ = takeAnswers()
    }
}
