import Dispatch
import EventLog
import JSON
import PipelineKit
import Synchronization
import Time
import ZeroMQ

/// A transport and its session number. The number stays the same from opening the transport until it is closed.
struct OpenTransport: Sendable {
    var transport: any Transport
    var session = UInt64.random(in: 1 ... .max)
}

/// Sends a stage's pushes to its transports, and collects the answers.
///
/// A push is sent as soon as its transport has room. A slow device, app or transport uses only its own part of the
/// room.
final class TransportDispatcher: Sendable {
    private let transports: [String: any Transport]
    private let streams: [String: AsyncStream<[Delivery]>]
    /// Sends pushes to continuous transports, in order, without delaying the host's thread.
    private let outgoing = DispatchQueue(label: "belfry.outgoing")
    let sink: PushSink?
    private let state: Mutex<State>
    private let monotonicNow: @Sendable () -> ContinuousClock.Instant

    fileprivate struct State {
        var queues: [TransportQueue]
        /// The answers that the host has not taken yet. Their pushes still use room at their transports.
        var answers: [Arrival] = []
        /// Whether a waiting answer forbids pushes to an address or an app. The stage must get this answer before
        /// further pushes are sent.
        var mustSettleFirst = false
        var complaints: [String] = []
        /// The deferred pushes whose last answer was just taken.
        var finished: Set<UInt64> = []
        var answered: @Sendable () -> Void = {}
    }

    fileprivate struct Arrival {
        var answer: TransportAnswer
        /// The index of the transport's queue; nil for an answer of the host or the stage.
        var queue: Int?
        var time: ContinuousClock.Instant
    }

    struct Handover {
        fileprivate var queue: Int
        var pushes: [Delivery]
    }

    /// If this many pushes of one app wait, the stage takes no more input. But while other apps or transports are in
    /// use too, it takes input until ``sharedWaitingMax`` pushes wait.
    private static let waitingMax = 4_096
    /// If this many pushes wait in all, the stage takes no more input. Until then an app with ``waitingMax`` waiting
    /// pushes does not keep out the pushes of other apps and transports.
    private static let sharedWaitingMax = 16_384

    init(
        _ transports: [String: OpenTransport], sink: PushSink? = nil,
        monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.transports = transports.mapValues(\.transport)
        self.sink = sink
        self.monotonicNow = monotonicNow
        var queues: [TransportQueue] = []
        var streams: [String: AsyncStream<[Delivery]>] = [:]
        for (name, open) in transports.sorted(by: { $0.key < $1.key }) {
            if let transport = open.transport as? any ContinuousTransport {
                queues.append(TransportQueue(name, .init(transport, session: open.session)))
            } else {
                let (stream, batches) = AsyncStream.makeStream(of: [Delivery].self)
                streams[name] = stream
                queues.append(TransportQueue(name, .init(open, batches)))
            }
        }
        self.streams = streams
        state = Mutex(State(queues: queues))
    }

    /// Makes a dispatcher for transports in a simulation, which pass their answers to ``collect(_:from:)``.
    init(
        routes: [String: TransportQueue.Route],
        monotonicNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (transports, streams, sink, self.monotonicNow) = ([:], [:], nil, monotonicNow)
        state = Mutex(State(queues: routes.sorted { $0.key < $1.key }.map { TransportQueue($0.key, $0.value) }))
    }

    /// The session number of each open transport, by its name; empty with a sink.
    var sessions: [String: UInt64] {
        state.withLock { state in Dictionary(uniqueKeysWithValues: state.queues.map { ($0.name, $0.route.session) }) }
    }

    var hasAnswers: Bool { state.withLock { !$0.answers.isEmpty } }

    /// Whether no sent push waits for its first answer, and the host has taken all answers. Deferred pushes may still
    /// be under way.
    var isResting: Bool { state.withLock { $0.answers.isEmpty && $0.queues.allSatisfy { $0.inFlight == 0 } } }

    /// Whether ``isResting`` is true and no push waits for room.
    var isIdle: Bool {
        state.withLock { $0.answers.isEmpty && $0.queues.allSatisfy { $0.inFlight == 0 && $0.waitingCount == 0 } }
    }

    /// Whether so few pushes wait that the stage may take more input.
    var hasRoom: Bool {
        let now = monotonicNow()
        return state.withLock { state in
            guard state.queues.reduce(0, { $0 + $1.waitingCount }) < Self.sharedWaitingMax else { return false }
            guard state.queues.contains(where: { $0.longestQueue >= Self.waitingMax }) else { return true }
            return state.queues.count { $0.inFlight > 0 || $0.waitingCount > 0 } > 1
                || state.queues.contains { $0.hasSeveralActiveApps(at: now) }
        }
    }

    // MARK: Work

    /// Runs the transports that get one batch after another, until ``stop()``. Returns at once if all transports are
    /// continuous. From this call on, `answered` is called whenever answers of a transport have come.
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
            // A transport that is being stopped may leave out answers. The pushes without an answer are handed out
            // again after the restart.
            if !Task.isCancelled { answers += missing(answers, to: batch, from: name) }
            collect(answers, from: name)
        }
    }

    func stop() {
        for queue in state.withLock({ $0.queues }) { queue.route.end() }
    }

    // MARK: Pushes

    /// Queues pushes, to be sent as there is room. A push for a transport that the pipeline does not have is not
    /// queued: it gets the answer `failed`.
    func append(_ pushes: [Delivery]) {
        guard !pushes.isEmpty else { return }
        let now = monotonicNow()
        state.withLock { state in
            for push in pushes {
                if let queue = state.queues.firstIndex(where: { $0.name == push.transport }) {
                    state.queues[queue].append(push, at: now)
                } else {
                    state.answers.append(Arrival(answer: .noTransport(push), queue: nil, time: now))
                }
            }
        }
    }

    /// Takes back pushes for which the stage has answers of its own. Pushes that still wait in a queue are removed and
    /// get these answers. Any other push gets its answer from its transport.
    func withdraw(_ answers: [TransportAnswer]) {
        guard !answers.isEmpty else { return }
        let byNumber = Dictionary(answers.map { ($0.id.number, $0) }) { $1 }
        let removed = state.withLock { state in
            state.queues.indices.filter { state.queues[$0].waitingCount > 0 }.flatMap {
                state.queues[$0].remove(Set(byNumber.keys))
            }
        }
        collect(removed.compactMap { byNumber[$0.number] })
    }

    /// Takes the pushes for which there is room. The caller must ``send(_:)`` them or put them back.
    ///
    /// Returns no pushes while an answer waits that may forbid some of them, for example because a device token is no
    /// longer valid.
    func next() -> [Handover] {
        let now = monotonicNow()
        return state.withLock { state in
            guard !state.mustSettleFirst else { return [] }
            return state.queues.indices.compactMap { queue in
                let pushes = state.queues[queue].next(at: now)
                return pushes.isEmpty ? nil : Handover(queue: queue, pushes: pushes)
            }
        }
    }

    func putBack(_ handovers: [Handover]) {
        state.withLock { state in
            for handover in handovers { state.queues[handover.queue].putBack(handover.pushes) }
        }
    }

    func send(_ handover: Handover) {
        guard !handover.pushes.isEmpty else { return }
        let now = monotonicNow()
        let (name, send) = state.withLock { state in
            state.queues[handover.queue].begin(handover.pushes, at: now)
            return (state.queues[handover.queue].name, state.queues[handover.queue].route.send)
        }
        if let transport = transports[name] as? any ContinuousTransport {
            outgoing.async { transport.take(handover.pushes) { [weak self] in self?.collect($0, from: name) } }
        } else {
            send(handover.pushes)
        }
    }

    // MARK: Answers

    /// Keeps answers for ``takeAnswers()``.
    ///
    /// - Parameter name: The transport; nil for answers of the host or the stage.
    func collect(_ answers: [TransportAnswer], from name: String? = nil) {
        guard !answers.isEmpty else { return }
        let now = monotonicNow()
        let answered = state.withLock { state in
            let queue = state.queues.firstIndex { $0.name == name }
            state.answers += answers.map { Arrival(answer: $0, queue: queue, time: now) }
            guard name != nil else { return {} }
            state.mustSettleFirst = state.mustSettleFirst || answers.contains(where: \.forbidsPushes)
            return state.answered
        }
        answered()
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

    /// Takes the answers that have come, and frees the room of their pushes. Leaves out a repeated answer, and a
    /// transport's answer to a push that the transport does not have.
    func takeAnswers() -> [TransportAnswer] {
        state.withLock { state in
            let arrivals = state.answers
            (state.answers, state.mustSettleFirst) = ([], false)
            var answers: [TransportAnswer] = []
            answers.reserveCapacity(arrivals.count)
            state.finished = []
            for arrival in arrivals where state.settle(arrival) { answers.append(arrival.answer) }
            state.removeFinished()
            return answers
        }
    }

    /// Takes the messages for the operator about wrong answers of transports.
    func takeComplaints() -> [String] {
        state.withLock { state in
            defer { state.complaints = [] }
            return state.complaints
        }
    }
}

extension TransportDispatcher.State {
    fileprivate mutating func settle(_ arrival: TransportDispatcher.Arrival) -> Bool {
        guard let queue = arrival.queue else { return true }
        switch queues[queue].settle(arrival.answer, at: arrival.time) {
        case .first: return true
        case .late:
            finished.insert(arrival.answer.id.number)
            return true
        case .known: return false
        case .surplus:
            if complaints.count < Self.complaintsMax { complaints.append(surplus(arrival.answer, queues[queue].name)) }
            return false
        }
    }

    /// Removes waiting pushes that now have their last answer. They may wait in any queue, because a device may have
    /// moved to another transport while the first transport still had its push.
    fileprivate mutating func removeFinished() {
        guard !finished.isEmpty else { return }
        for queue in queues.indices where queues[queue].waitingCount > 0 { _ = queues[queue].remove(finished) }
    }

    private func surplus(_ answer: TransportAnswer, _ name: String) -> String {
        "transport \(name) answered push \(answer.id.push) at device \(answer.id.device), but does not have this push; "
            + "the answer is ignored"
    }

    private static let complaintsMax = 10
}

extension TransportAnswer {
    /// Whether the answer forbids further pushes to the device's address or to its app.
    fileprivate var forbidsPushes: Bool { [.unregistered, .unknownAddress, .stopped].contains(outcome) }

    fileprivate static func noTransport(_ push: Delivery) -> TransportAnswer {
        TransportAnswer(push.id, .failed, reason: "the pipeline has no transport \(push.transport)", attempts: 0)
    }
}

extension TransportQueue.Route {
    fileprivate init(_ transport: any ContinuousTransport, session: UInt64) {
        self.init(
            send: { _ in }, inFlightMax: { transport.inFlightMax }, room: { transport.room(for: $0) }, session: session)
    }

    fileprivate init(_ open: OpenTransport, _ batches: AsyncStream<[Delivery]>.Continuation) {
        self.init(
            send: { batches.yield($0) }, end: { batches.finish() }, inFlightMax: { open.transport.inFlightMax },
            session: open.session)
    }
}
