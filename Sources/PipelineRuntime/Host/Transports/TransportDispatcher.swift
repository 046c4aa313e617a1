import Dispatch
import EventLog
import JSON
import PipelineKit
import Synchronization
import Time
import ZeroMQ

/// Takes pushes, in order, in place of every transport that the pipeline file names.
package typealias PushSink = @Sendable ([Delivery]) -> Void

/// What a host is given by the program around it.
package struct HostSurroundings: Sendable {
    package var registry: Registry
    package var context: HostContext
    package var clock: HostClock
    /// Where the console transport writes its lines.
    package var console: @Sendable (String) throws -> Void
    /// For `belfry run` and tests: no transport is opened, every push goes here.
    package var sink: PushSink?
    package var time = HostTime()
    package var calls = FileCalls()
    /// How much of a step's outputs is appended at once.
    package var partBytes = Outbox.partBytes
    /// Whether the stage has a process to itself, so that a crash of the process is its own.
    package var isAlone = true
    /// How the stage's process before this one ended, if whoever started both says so.
    package var endBefore: String?
    /// The keys of a tool that speaks to stages and runs none: it needs no stage's secret key.
    package var toolKeys: CurveKeyPair?

    package init(
        registry: Registry, context: HostContext, clock: HostClock = .wall,
        console: @escaping @Sendable (String) throws -> Void = { print($0) }, sink: PushSink? = nil
    ) {
        self.registry = registry
        self.context = context
        self.clock = clock
        self.console = console
        self.sink = sink
    }
}

/// A transport, and a number that it has from when it is opened until it is closed.
struct OpenTransport: Sendable {
    var transport: any Transport
    var life = UInt64.random(in: 1 ... .max)
}

/// The transports of one stage's host, and the pushes that wait for room at them.
///
/// A push goes out as soon as its transport has room for it: a slow device, app or transport keeps only its own part of
/// the room. Answers are taken as they come.
final class TransportDispatcher: Sendable {
    private let transports: [String: any Transport]
    private let streams: [String: AsyncStream<[Delivery]>]
    /// Where continuous transports take pushes, in their order: the host's thread goes on meanwhile.
    private let outgoing = DispatchQueue(label: "belfry.outgoing")
    /// Where the pushes go of a host that opens no transport.
    let sink: PushSink?
    private let state: Mutex<State>
    private let steady: @Sendable () -> ContinuousClock.Instant

    fileprivate struct State {
        /// In the order of their names.
        var lanes: [TransportQueue]
        /// What the host has not taken yet. Until then an answered push has its room.
        var answers: [Arrival] = []
        /// Whether one of the answers changes what may go out.
        var hasNews = false
        var complaints: [String] = []
        var answered: @Sendable () -> Void = {}
    }

    fileprivate struct Arrival {
        var answer: TransportAnswer
        /// The lane that it came through; nil for the host's own answer.
        var lane: Int?
        var time: ContinuousClock.Instant
    }

    /// The pushes that one transport gets now.
    struct Handover {
        fileprivate var lane: Int
        var pushes: [Delivery]
    }

    /// So many pushes of one app may wait before the stage takes nothing more in.
    private static let waitingMax = 4_096
    /// The same while other apps have pushes too, which are not to wait for this one.
    private static let sharedWaitingMax = 16_384

    init(
        _ transports: [String: OpenTransport], sink: PushSink? = nil,
        steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.transports = transports.mapValues(\.transport)
        self.sink = sink
        self.steady = steady
        var lanes: [TransportQueue] = []
        var streams: [String: AsyncStream<[Delivery]>] = [:]
        for (name, open) in transports.sorted(by: { $0.key < $1.key }) {
            if let transport = open.transport as? any ContinuousTransport {
                lanes.append(TransportQueue(name, .init(transport, life: open.life)))
            } else {
                let (stream, batches) = AsyncStream.makeStream(of: [Delivery].self)
                streams[name] = stream
                lanes.append(TransportQueue(name, .init(open, batches)))
            }
        }
        self.streams = streams
        state = Mutex(State(lanes: lanes))
    }

    /// Transports that are elsewhere: their answers come through ``take(_:from:)``.
    init(
        ways: [String: TransportQueue.Way], steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (transports, streams, sink, self.steady) = ([:], [:], nil, steady)
        state = Mutex(State(lanes: ways.sorted { $0.key < $1.key }.map { TransportQueue($0.key, $0.value) }))
    }

    /// The number of each transport that is open, by its name; none with a sink.
    var lives: [String: UInt64] {
        state.withLock { state in Dictionary(uniqueKeysWithValues: state.lanes.map { ($0.name, $0.way.life) }) }
    }

    /// Whether answers wait to be taken.
    var hasAnswers: Bool { state.withLock { !$0.answers.isEmpty } }

    /// Whether no transport has a push, and all answers were taken.
    var isResting: Bool { state.withLock { $0.answers.isEmpty && $0.lanes.allSatisfy { $0.inFlight == 0 } } }

    /// Whether no push waits either.
    var isIdle: Bool {
        state.withLock { $0.answers.isEmpty && $0.lanes.allSatisfy { $0.inFlight == 0 && $0.waitingCount == 0 } }
    }

    /// Whether more pushes may be made.
    var hasRoom: Bool {
        let now = steady()
        return state.withLock { state in
            guard state.lanes.contains(where: { $0.longestQueue >= Self.waitingMax }) else { return true }
            guard state.lanes.reduce(0, { $0 + $1.waitingCount }) < Self.sharedWaitingMax else { return false }
            return state.lanes.count { $0.inFlight > 0 || $0.waitingCount > 0 } > 1
                || state.lanes.contains { $0.isShared(at: now) }
        }
    }

    // MARK: Work

    /// Works until ``stop()``; `answered` is called whenever answers have come.
    func work(answered: @escaping @Sendable () -> Void) async {
        state.withLock { $0.answered = answered }
        await withTaskGroup(of: Void.self) { group in
            for (name, transport) in transports {
                guard let stream = streams[name] else { continue }
                group.addTask { await self.work(stream, transport, name) }
            }
        }
    }

    private func work(_ batches: AsyncStream<[Delivery]>, _ transport: any Transport, _ name: String) async {
        for await batch in batches {
            var answers = await transport.deliver(batch)
            // A transport that is stopped may leave answers out: those pushes are handed out again.
            if !Task.isCancelled { answers += missing(answers, to: batch, from: name) }
            take(answers, from: name)
        }
    }

    func stop() {
        for lane in state.withLock({ $0.lanes }) { lane.way.end() }
    }

    // MARK: Pushes

    /// Takes pushes that go out in their order as there is room for them.
    func append(_ pushes: [Delivery]) {
        guard !pushes.isEmpty else { return }
        let now = steady()
        state.withLock { state in
            for push in pushes {
                if let lane = state.lanes.firstIndex(where: { $0.name == push.transport }) {
                    state.lanes[lane].append(push, at: now)
                } else {
                    state.answers.append(Arrival(answer: .noTransport(push), lane: nil, time: now))
                }
            }
        }
    }

    /// Gives these answers to the pushes that still wait.
    func withdraw(_ answers: [TransportAnswer]) {
        guard !answers.isEmpty else { return }
        let byNumber = Dictionary(answers.map { ($0.id.number, $0) }) { $1 }
        let removed = state.withLock { state in
            state.lanes.indices.filter { state.lanes[$0].waitingCount > 0 }.flatMap {
                state.lanes[$0].remove(Set(byNumber.keys))
            }
        }
        take(removed.compactMap { byNumber[$0.number] })
    }

    /// Takes out what there is room for: to be sent with ``send(_:)``, or put back.
    ///
    /// Nothing goes out while an answer waits that may change what is sent, such as one that ends a token.
    func next() -> [Handover] {
        let now = steady()
        return state.withLock { state in
            guard !state.hasNews else { return [] }
            return state.lanes.indices.compactMap { lane in
                let pushes = state.lanes[lane].next(at: now)
                return pushes.isEmpty ? nil : Handover(lane: lane, pushes: pushes)
            }
        }
    }

    func putBack(_ handovers: [Handover]) {
        state.withLock { state in
            for handover in handovers { state.lanes[handover.lane].putBack(handover.pushes) }
        }
    }

    func send(_ handover: Handover) {
        guard !handover.pushes.isEmpty else { return }
        let now = steady()
        let (name, send) = state.withLock { state in
            state.lanes[handover.lane].begin(handover.pushes, at: now)
            return (state.lanes[handover.lane].name, state.lanes[handover.lane].way.send)
        }
        if let transport = transports[name] as? any ContinuousTransport {
            outgoing.async { transport.take(handover.pushes) { [weak self] in self?.take($0, from: name) } }
        } else {
            send(handover.pushes)
        }
    }

    // MARK: Answers

    /// Takes answers that a transport gives.
    func take(_ answers: [TransportAnswer], from name: String) {
        guard !answers.isEmpty else { return }
        let now = steady()
        let answered = state.withLock { state in
            let lane = state.lanes.firstIndex { $0.name == name }
            state.answers += answers.map { Arrival(answer: $0, lane: lane, time: now) }
            state.hasNews = state.hasNews || answers.contains(where: \.endsAddress)
            return state.answered
        }
        answered()
    }

    /// Takes answers of the host's own.
    func take(_ answers: [TransportAnswer]) {
        let now = steady()
        state.withLock { state in state.answers += answers.map { Arrival(answer: $0, lane: nil, time: now) } }
    }

    private func missing(
        _ answers: [TransportAnswer], to batch: [Delivery], from name: String
    ) -> [TransportAnswer] {
        guard answers.count < batch.count || Set(answers.map(\.id)).count < batch.count else { return [] }
        let answered = Set(answers.map(\.id))
        return batch.filter { !answered.contains($0.id) }.map {
            TransportAnswer($0.id, .failed, reason: "transport \(name) gave no answer", attempts: 1)
        }
    }

    /// The answers that have come, each push's first or last. Their pushes have no room any more.
    func takeAnswers() -> [TransportAnswer] {
        state.withLock { state in
            let arrivals = state.answers
            (state.answers, state.hasNews) = ([], false)
            var answers: [TransportAnswer] = []
            answers.reserveCapacity(arrivals.count)
            for arrival in arrivals where state.settle(arrival) { answers.append(arrival.answer) }
            return answers
        }
    }

    /// What transports did that they should not, for the operator.
    func takeComplaints() -> [String] {
        state.withLock { state in
            defer { state.complaints = [] }
            return state.complaints
        }
    }
}

extension TransportDispatcher.State {
    /// - Returns: Whether the answer counts.
    fileprivate mutating func settle(_ arrival: TransportDispatcher.Arrival) -> Bool {
        guard let lane = arrival.lane else { return true }
        switch lanes[lane].settle(arrival.answer, at: arrival.time) {
        case .first, .late: return true
        case .known: return false
        case .surplus:
            if complaints.count < Self.complaintsMax { complaints.append(surplus(arrival.answer, lanes[lane].name)) }
            return false
        }
    }

    private func surplus(_ answer: TransportAnswer, _ name: String) -> String {
        "transport \(name) answers push \(answer.id.push) at \(answer.id.device), which it does not have: the answer "
            + "does not count"
    }

    private static let complaintsMax = 10
}

extension TransportAnswer {
    /// Whether no further push may go to its address, or none of its app.
    fileprivate var endsAddress: Bool { [.unregistered, .unknownAddress, .stopped].contains(outcome) }

    fileprivate static func noTransport(_ push: Delivery) -> TransportAnswer {
        TransportAnswer(push.id, .failed, reason: "the pipeline has no transport \(push.transport)", attempts: 0)
    }
}

extension TransportQueue.Way {
    fileprivate init(_ transport: any ContinuousTransport, life: UInt64) {
        self.init(
            send: { _ in }, inFlightMax: { transport.inFlightMax }, room: { transport.room(for: $0) }, life: life)
    }

    fileprivate init(_ open: OpenTransport, _ batches: AsyncStream<[Delivery]>.Continuation) {
        self.init(
            send: { batches.yield($0) }, end: { batches.finish() }, inFlightMax: { open.transport.inFlightMax },
            life: open.life)
    }
}
