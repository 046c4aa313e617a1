import NIOCore
import PipelineKit
import TestSupport
import Testing

@testable import TransportAPNs

/// Compares the behaviour of a pool with the history of its events.
struct PoolStateTests {
    @Test(arguments: Seeded.seeds)
    func `in any order of events, each push is sent only where that is allowed, is answered, and ends at most once`(
        seed: UInt64
    ) {
        var draw = Seeded(seed)
        for walk in 0..<300 {
            var toy = ToyPool(Seeded(draw.next()))
            for _ in 0..<60 where toy.mistakes.isEmpty { toy.step() }
            if toy.mistakes.isEmpty { toy.endAllWaits() }
            #expect(toy.mistakes.isEmpty, "walk \(walk) of seed \(seed): \(toy.mistakes) \(toy.history.events)")
            if !toy.mistakes.isEmpty { return }
        }
    }

    @Test func `the activity of a pool follows its events`() {
        let start = PoolState.Moment(now: .uptimeNanoseconds(1), wall: .epoch, jitter: { 0 })
        var state = PoolState(.toy(hasToken: true, connections: 1), at: start)
        func answer(_ status: Int) -> [HTTP2Event] { [.answer(tag: 0, ResponseHead(status: status), body: [])] }
        #expect(state.activity == .idle)
        state.add([.toy(1, orderKey: nil)], { _ in }, windowLength: .seconds(1), at: start)
        #expect(state.activity == .dialing && state.actions.first == .dial(1))
        state.ended(1, "is not there", at: start)
        #expect(state.activity == .backingOff && state.nextDial == start.now + .milliseconds(500))
        state.tick(at: start.later(.milliseconds(499)))
        #expect(state.activity == .backingOff)
        state.tick(at: start.later(.milliseconds(500)))
        #expect(state.activity == .dialing && state.actions.last == .dial(2))
        state.dialed(2, at: state.moment)
        state.received([.settings(streamsMax: 10)], from: 2, hasRead: true, isOver: false, at: state.moment)
        #expect(state.activity == .proving && state.actions.last == .send(tag: 0, over: 2))
        state.received(answer(200), from: 2, hasRead: true, isOver: false, at: state.moment)
        #expect(state.activity == .ready && state.dialFailures == 0)
        let end = Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8)
        state.received(
            [.goAway(lastStream: 1, .noError, debugData: end)], from: 2, hasRead: true, isOver: false, at: state.moment)
        #expect(state.activity == .stopped && state.actions.last == .close(2))
        state.pause = (
            state.moment.wall.advanced(by: .seconds(1)), APNsAnswer(ResponseHead(status: 429), body: [], now: .epoch)
        )
        state.stopped = nil
        #expect(state.activity == .paused)
        state.retire(at: state.moment)
        #expect(state.activity == .retired)
        state.close(at: state.moment)
        #expect(state.activity == .closed)
    }

    @Test func `after failures, no second connection is dialed before the first has reached the server`() {
        let start = PoolState.Moment(now: .uptimeNanoseconds(1), wall: .epoch, jitter: { 0 })
        var state = PoolState(.toy(hasToken: false, connections: 3), at: start)
        func dialed() -> [Int] {
            state.actions.compactMap { action -> Int? in if case .dial(let id) = action { id } else { nil } }
        }
        state.add([.toy(1, orderKey: nil)], { _ in }, windowLength: .seconds(1), at: start)
        for id in 1...3 { state.ended(id, "is not there", at: start) }
        for tick in 0..<5 { state.tick(at: start.later(.milliseconds(10_000 + 100 * Int64(tick)))) }
        #expect(dialed() == [1, 2, 3, 4])
        state.dialed(4, at: state.moment)
        state.received([.settings(streamsMax: 10)], from: 4, hasRead: true, isOver: false, at: state.moment)
        #expect(dialed() == [1, 2, 3, 4, 5])
    }

    @Test func `a push that ends while it waits for its second attempt is reported with one attempt`() {
        let start = PoolState.Moment(now: .uptimeNanoseconds(1), wall: .epoch, jitter: { 0 })
        var state = PoolState(.toy(hasToken: false, connections: 1), at: start)
        let push = APNsPush.toy(1, orderKey: nil, expires: start.wall.advanced(by: .seconds(5)))
        state.add([push], { _ in }, windowLength: .seconds(60), at: start)
        state.dialed(1, at: start)
        state.received([.settings(streamsMax: 10)], from: 1, hasRead: true, isOver: false, at: start)
        let idle = Array(#"{"reason":"IdleTimeout"}"#.utf8)
        state.received(
            [.answer(tag: 0, ResponseHead(status: 400), body: idle)], from: 1, hasRead: true, isOver: false, at: start)
        var retired = state
        retired.retire(at: start)
        #expect(retired.takeAnswers(of: 0)?.answers.map(\.attempts) == [1])
        let later = start.later(.seconds(10))
        state.tick(at: later)
        state.dialed(2, at: later)
        state.received([.settings(streamsMax: 10)], from: 2, hasRead: true, isOver: false, at: later)
        let answers = state.takeAnswers(of: 0)?.answers ?? []
        #expect(answers.map(\.reason) == ["expired"] && answers.map(\.attempts) == [1])
    }
}
