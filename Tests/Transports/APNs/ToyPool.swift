import NIOCore
import PipelineKit
import Synchronization
import TestSupport
import Time

@testable import TransportAPNs

/// A ``PoolState`` with simulated connections, whose servers behave at random. The toy takes the place of
/// `ConnectionPool`: it performs the state's actions.
struct ToyPool {
    private(set) var history = PoolHistory()
    private(set) var mistakes: [String] = []
    private var state: PoolState
    private var moment: PoolState.Moment
    private var draw: Seeded
    /// The tag with which each push was last sent.
    private var tags: [Int: Int] = [:]
    /// Connections that were told to close or have ended.
    private var closing: Set<Int> = []
    private var dialing: [Int] = []
    private var connected: [Int] = []
    private var waits: [Int: NIODeadline] = [:]
    private var pushes = 0
    private var batches = 0

    private static let answers = [
        (200, ""), (200, ""), (200, ""), (410, "Unregistered"), (429, "TooManyRequests"), (503, "ServiceUnavailable"),
        (500, "InternalServerError"), (403, "ExpiredProviderToken"), (403, "InvalidProviderToken"),
        (429, "TooManyProviderTokenUpdates"), (400, "IdleTimeout"), (400, "TopicDisallowed"),
    ]

    init(_ draw: Seeded) {
        self.draw = draw
        moment = .init(now: .uptimeNanoseconds(1), wall: .epoch, jitter: { 0 })
        state = PoolState(.toy(hasToken: self.draw.isOneIn(2)), at: moment)
    }

    mutating func step() {
        moment = moment.later(.milliseconds(draw.one(of: [1, 100, 100, 700, 20_000])))
        let jitter = Double(draw.below(101)) / 100
        moment.jitter = { jitter }
        simulateEvent()
        act()
        compare()
    }

    mutating func endAllWaits() {
        for (batch, until) in waits.sorted(by: { $0.key < $1.key }) {
            moment.now = max(moment.now, until)
            state.endWait(of: batch, at: moment)
            act()
        }
        compare()
        let unanswered = history.openPushes().open.filter { !$0.value.isLate }
        if !unanswered.isEmpty { mistakes.append("never answered: \(unanswered.keys)") }
    }

    private mutating func simulateEvent() {
        let inFlight = history.openPushes().open.filter { $0.value.over != nil }.sorted { $0.key < $1.key }
        switch draw.below(16) {
        case 0...3: passPushes()
        case 4...5 where !dialing.isEmpty: endDial(dialing.remove(at: draw.below(dialing.count)))
        case 6 where !connected.isEmpty:
            let id = draw.one(of: connected)
            let streams = draw.below(4)
            history.events.append(.settings(id, streams: streams))
            receive([.settings(streamsMax: streams)], from: id)
        case 7...10 where !inFlight.isEmpty:
            let (push, openPush) = draw.one(of: inFlight)
            if let id = openPush.over { endStream(push, on: id) }
        case 11 where !connected.isEmpty: goAway(draw.one(of: connected))
        case 12 where !connected.isEmpty: end(draw.one(of: connected))
        case 13 where !waits.isEmpty:
            let due = waits.filter { $0.value <= moment.now }.keys.sorted()
            if let batch = due.first { state.endWait(of: batch, at: moment) }
        case 14 where draw.isOneIn(8): change()
        default: tick()
        }
    }

    private mutating func passPushes() {
        batches += 1
        let open = history.openPushes().open
        // A push without a final answer is passed again only after the pool has answered that it is still in flight.
        let again = (0..<pushes).filter { (open[$0].map { $0.isLate } ?? true) && draw.isOneIn(8) }
        let fresh = Array(pushes..<(pushes + 1 + draw.below(4)))
        pushes += fresh.count
        let batch = batches
        if draw.isOneIn(6), !again.isEmpty {
            for push in again {
                history.events.append(.passed(push: push, batch: batch, orderKey: orderKey(of: push)))
            }
            return state.join(again.map { .toy($0) }, collector(of: batch), windowLength: .seconds(2), at: moment)
        }
        for push in again + fresh {
            history.events.append(.passed(push: push, batch: batch, orderKey: orderKey(of: push)))
        }
        state.add(
            (again + fresh).map { .toy($0, orderKey: orderKey(of: $0), expires: $0 % 11 == 0 ? moment.wall : nil) },
            collector(of: batch),
            windowLength: .seconds(2), at: moment)
    }

    private func orderKey(of push: Int) -> UInt8? { push % 3 == 0 ? UInt8(push % 2) : nil }

    /// Adds the answers of a batch to ``box``, with the batch's number.
    private func collector(of batch: Int) -> PoolState.Answered { { [box] in box.add($0, to: batch) } }

    private let box = AnswerBox()

    private mutating func endDial(_ id: Int) {
        if draw.isOneIn(3) || closing.contains(id) {
            history.events.append(.ended(id, at: moment.now))
            state.ended(id, "is not there", at: moment)
        } else {
            history.events.append(.connected(id))
            connected.append(id)
            state.dialed(id, at: moment)
        }
    }

    private mutating func receive(_ events: [HTTP2Event], from id: Int) {
        state.received(events, from: id, hasRead: true, isOver: closing.contains(id), at: moment)
    }

    private mutating func endStream(_ push: Int, on id: Int) {
        guard let tag = tags[push] else { return }
        switch draw.below(8) {
        case 0:
            history.events.append(.streamEnded(push: push, over: id, status: 0))
            receive([.refused(tag: tag)], from: id)
        case 1:
            history.events.append(.streamEnded(push: push, over: id, status: -1))
            receive([.broken(tag: tag, .protocolError)], from: id)
        default:
            let (status, reason) = draw.one(of: Self.answers)
            // `TooManyProviderTokenUpdates` has status 429, but the pool may replace the connection after it. The
            // history gets 400 instead, because `PoolHistory.good` contains 429.
            history.events.append(
                .streamEnded(
                    push: push, over: id, status: reason == "TooManyProviderTokenUpdates" ? 400 : status))
            let body = reason.isEmpty ? [] : Array(#"{"reason":"\#(reason)"}"#.utf8)
            receive([.answer(tag: tag, ResponseHead(status: status), body: body)], from: id)
        }
    }

    private mutating func goAway(_ id: Int) {
        let rejectsCredential = draw.isOneIn(4)
        let refused = inFlight(on: id).filter { _ in draw.isOneIn(2) }
        for push in refused { history.events.append(.streamEnded(push: push, over: id, status: 0)) }
        history.events.append(.goneAway(id, rejectsCredential: rejectsCredential))
        let data = rejectsCredential ? Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8) : []
        receive(
            refused.compactMap { tags[$0] }.map { .refused(tag: $0) }
                + [.goAway(lastStream: 0, .noError, debugData: data)], from: id)
    }

    private func inFlight(on id: Int) -> [Int] {
        history.openPushes().open.filter { $0.value.over == id }.keys.sorted()
    }

    /// Ends the socket of a connection, and with it the requests in flight.
    private mutating func end(_ id: Int) {
        connected.removeAll { $0 == id }
        closing.insert(id)
        let lost = inFlight(on: id)
        for push in lost { history.events.append(.streamEnded(push: push, over: id, status: -1)) }
        history.events.append(.ended(id, at: moment.now))
        receive(lost.compactMap { tags[$0] }.map { .broken(tag: $0, .cancel) }, from: id)
        state.ended(id, nil, at: moment)
    }

    private mutating func change() {
        switch draw.below(6) {
        case 0:
            history.events.append(.retired)
            state.retire(at: moment)
        case 1:
            history.events.append(.closed)
            state.close(at: moment)
        default:
            let (connections, renews) = (1 + draw.below(3), draw.isOneIn(2))
            history.events.append(.changed(connections: connections, renews: renews))
            var options = state.options
            options.connections = connections
            state.use(options, renewsConnections: renews, at: moment)
        }
    }

    private mutating func tick() {
        state.tick(at: moment)
        act()
        for (push, openPush) in history.openPushes().open
        where openPush.over.map({ !state.isInFlightBeforeDeadline(push, $0, at: moment) }) == true {
            mistakes.append("\(push) is in flight after its deadline")
        }
        guard !state.waiting.isEmpty, !state.isRetired, !state.isClosed else { return }
        for id in connected where !history.mayBeReplaced(id) && hasRoom(id) {
            mistakes.append("\(id) has room, and pushes wait")
        }
    }

    private func hasRoom(_ id: Int) -> Bool {
        history.streams(on: id, hasToken: state.options.hasToken) > inFlight(on: id).count
    }

    // MARK: Actions

    private mutating func act() {
        var next = 0
        while next < state.actions.count {
            perform(state.actions[next])
            next += 1
        }
        state.actions = []
    }

    private mutating func perform(_ action: PoolState.Action) {
        switch action {
        case .dial(let id):
            history.events.append(.dialed(id, at: moment.now))
            dialing.append(id)
            if let mistake = history.wrongDial(state.options.dialing, at: moment.now) { mistakes.append(mistake) }
        case .send(let tag, let id): send(tag, over: id)
        case .cancel(let tag, let id):
            guard let push = tags.first(where: { $0.value == tag && inFlight(on: id).contains($0.key) })?.key else {
                return
            }
            history.events.append(.streamEnded(push: push, over: id, status: -1))
            state.received(
                [.broken(tag: tag, .cancel)], from: id, hasRead: false, isOver: closing.contains(id), at: moment)
        case .close(let id):
            history.events.append(.closeRequested(id))
            if connected.contains(id), !closing.contains(id), draw.isOneIn(2) { end(id) } else { closing.insert(id) }
        case .report(let batch):
            if let (answered, answers) = state.takeAnswers(of: batch) { answered(answers) }
            for (answer, batch) in box.removeAll() { history.events.append(.answered(answer, batch: batch)) }
        case .wait(let batch, let until): waits[batch] = until
        case .cancelWait(let batch): waits[batch] = nil
        case .ping, .replaceExpiredToken, .keepToken: break
        }
    }

    private mutating func send(_ tag: Int, over id: Int) {
        guard let sent = state.requests[tag]?.push else { return mistakes.append("an unknown push is sent") }
        let push = Int(sent.delivery.id.push)
        if draw.isOneIn(40) {
            return state.sendFailed(tag, draw.isOneIn(2) ? "no token" : nil, at: moment)
        }
        if closing.contains(id) || !connected.contains(id) {
            mistakes.append("\(push) is sent over \(id), which is gone")
        }
        if !hasRoom(id) { mistakes.append("\(push) is sent over \(id), which has no room") }
        let open = history.openPushes().open
        if let orderKey = sent.orderKey?.first, let began = open[push]?.began,
            open.values.contains(where: { $0.orderKey == orderKey && $0.began < began })
        {
            mistakes.append("\(push) overtakes an earlier push that has the same order key")
        }
        if let expiration = sent.expiration, expiration <= moment.wall {
            mistakes.append("\(push) is too old to be sent")
        }
        tags[push] = tag
        history.events.append(.sent(push: push, over: id))
    }

    /// Compares the state's pushes and connections with the history.
    private mutating func compare() {
        let (open, found) = history.openPushes()
        mistakes += found
        let requests = state.requests.indices.compactMap { state.requests[$0] }
        let inFlight = requests.filter { $0.flight != nil }
        if Set(requests.map { Int($0.push.delivery.id.push) }) != Set(open.keys) || requests.count != open.count {
            mistakes.append("pushes are \(requests.map(\.push.delivery.id.push)), not \(open.keys)")
        }
        if Set(inFlight.map { Int($0.push.delivery.id.push) }) != Set(open.filter { $0.value.over != nil }.keys) {
            mistakes.append("other pushes are in flight than in the history")
        }
        for request in inFlight where open[Int(request.push.delivery.id.push)]?.over != request.flight?.connection {
            mistakes.append("a push is in flight on another connection than in the history")
        }
        let waiting = Set(state.waiting).union(state.queues.values.flatMap(\.self))
        let withoutFlight = requests.count - inFlight.count
        if waiting.count != withoutFlight { mistakes.append("\(waiting.count) pushes wait, not \(withoutFlight)") }
        for connection in state.connections
        where !state.isClosed && connection.active != self.inFlight(on: connection.id).count {
            mistakes.append("\(connection.id) has \(connection.active) in flight")
        }
        if waits.keys.contains(where: { state.batches[$0] == nil }) {
            mistakes.append("an answered batch is waited for")
        }
    }
}

/// The answers that are not in the history yet, with the numbers of their batches.
private final class AnswerBox: Sendable {
    private let answered = Mutex<[(TransportAnswer, Int)]>([])

    func add(_ answers: [TransportAnswer], to batch: Int) {
        answered.withLock { $0 += answers.map { ($0, batch) } }
    }

    func removeAll() -> [(TransportAnswer, Int)] {
        answered.withLock { answered in
            defer { answered = [] }
            return answered
        }
    }
}

extension PoolState {
    fileprivate func isInFlightBeforeDeadline(_ push: Int, _ id: Int, at moment: Moment) -> Bool {
        requests.indices.contains { tag in
            guard let request = requests[tag], let flight = request.flight else { return false }
            return request.push.delivery.id.push == push && flight.connection == id && flight.deadline > moment.now
        }
    }
}

extension PoolState.Moment {
    func later(_ wait: TimeAmount) -> Self {
        var later = self
        later.now = now + wait
        later.wall = wall.advanced(by: .nanoseconds(wait.nanoseconds))
        return later
    }
}

extension PoolState.Options {
    static func toy(hasToken: Bool, connections: Int = 2) -> Self {
        Self(
            connections: connections, timeout: .seconds(30), backoff: Backoff(), hasToken: hasToken,
            server: ServerName("apns", 443, proxy: nil), dialing: Dialing(), failsFast: false)
    }
}

extension Delivery.ID {
    static func toy(_ push: Int) -> Self { Self(push: UInt64(push), device: "phone") }
}

extension APNsPush {
    static func toy(_ push: Int, orderKey: UInt8?, expires: Instant? = nil) -> APNsPush {
        APNsPush(
            Delivery(id: .toy(push), transport: "apns", head: [], rest: []),
            kind: .init(topic: "topic \(push % 2)", pushType: "alert", priority: "10"), fields: [], pathEnd: 0,
            bodyRange: 0..<0, orderKey: orderKey.map { [$0] }, expiration: expires)
    }
}
