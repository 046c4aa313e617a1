import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit

/// The sockets and timers of a ``PoolState``: reports events to it, and performs its actions.
///
/// Everything in a pool runs on one event loop. Pools are independent: a slow server affects only its own apps.
final class ConnectionPool {
    private var plan: PoolPlan
    private let loop: any EventLoop
    private let surroundings: Surroundings
    private let allowance: Allowance
    private var fields: SharedFields
    private(set) var state: PoolState
    private(set) var connections: [Int: APNsConnection] = [:]
    /// For each batch, the timer that ends the wait for its answers.
    private var waits: [Int: Scheduled<Void>] = [:]
    private var ticks: RepeatedTask?
    private var isActing = false
    /// The actions that are being performed. The buffer is reused.
    private var actions: [PoolState.Action] = []
    /// The connection of the last request, which the next request mostly uses too. Saves a look-up.
    private var last: APNsConnection?

    private static let tickInterval = TimeAmount.milliseconds(100)

    struct HeldPushes: Sendable {
        /// Pushes that the pool reported as still in flight, and can still answer if the stage passes them again.
        var pushes: Set<Delivery.ID> = []
        /// The order keys of pushes that have not ended, see ``APNsPush/orderKey``.
        var orderKeys: Set<[UInt8]> = []
        /// Whether the pool has pushes that have not ended.
        var hasRequests = false
    }

    init(_ plan: PoolPlan, _ loop: any EventLoop, _ surroundings: Surroundings, _ allowance: Allowance) {
        self.plan = plan
        self.allowance = allowance
        self.loop = loop
        self.surroundings = surroundings
        fields = SharedFields(plan)
        state = PoolState(plan.options(surroundings), at: surroundings.moment)
    }

    // MARK: Events

    /// Sends pushes. Each push gets one answer, and sometimes a second one:
    /// see ``PoolState/add(_:_:windowLength:at:)``.
    func send(_ pushes: [APNsPush], _ answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        beginTicks()
        tell { $0.add(pushes, answered, windowLength: surroundings.windowLength(), at: $1) }
    }

    /// Answers pushes of this retired pool when the stage passes them again. A push that has already left the pool is
    /// deferred. The next time that the stage passes this push, another pool sends it.
    func join(_ ids: [Delivery.ID], _ answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        tell { $0.join(ids, answered, windowLength: surroundings.windowLength(), at: $1) }
    }

    /// Continues with changed settings.
    func use(_ new: PoolPlan) {
        let renewsConnections = new.needsOtherConnections(than: plan)
        plan = new
        fields.use(new)
        tell { $0.use(new.options(surroundings), renewsConnections: renewsConnections, at: $1) }
    }

    /// Sends no more pushes, because no app uses the pool any more. Waiting pushes are deferred. Pushes in flight are
    /// still answered.
    func retire() { tell { $0.retire(at: $1) } }

    /// Closes the connections. Unanswered pushes are deferred.
    func close() {
        ticks?.cancel()
        ticks = nil
        tell { $0.close(at: $1) }
    }

    var held: HeldPushes {
        HeldPushes(
            pushes: Set(state.late.keys).union(state.lateAnswers.keys), orderKeys: Set(state.queues.keys),
            hasRequests: !state.requests.isEmpty)
    }

    private func beginTicks() {
        guard ticks == nil, !state.isClosed else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: Self.tickInterval, delay: Self.tickInterval) { _ in
            bound.value.tell { $0.tick(at: $1) }
        }
    }

    /// Reports that a connection's channel is closed or, with an error, about to be closed.
    func ended(_ id: Int, _ error: (any Error)?) {
        tell { $0.ended(id, error.map { plan.serverName.words(for: $0) }, at: $1) }
        if error == nil { (connections[id], last) = (nil, nil) }
    }

    // MARK: Actions

    /// Reports an event to the state, and performs the actions that follow.
    func tell(_ event: (inout PoolState, PoolState.Moment) -> Void) {
        event(&state, surroundings.moment)
        act()
    }

    /// Performs the state's actions, and the actions that follow from these.
    private func act() {
        guard !isActing else { return }
        isActing = true
        repeat {
            swap(&state.actions, &actions)
            for action in actions { perform(action) }
            actions.removeAll(keepingCapacity: true)
            for connection in connections.values { connection.flush() }
        } while !state.actions.isEmpty
        isActing = false
        (allowance.count, allowance.isServerUnresponsive) = (state.allowance, state.timedOutInLastWindow)
        // Reports at once, because the event loop may stop before it runs another task.
        if state.isClosed { for batch in state.batches.indices { report(batch) } }
    }

    private func perform(_ action: PoolState.Action) {
        switch action {
        case .dial(let id): dial(id)
        case .send(let tag, let id): send(tag, over: id)
        case .cancel(let tag, let id): connections[id]?.cancel(tag: tag)
        case .ping(let id): connections[id]?.session.ping()
        case .close(let id): connections[id]?.close()
        case .report(let batch):
            let bound = NIOLoopBound(self, eventLoop: loop)
            loop.execute { bound.value.report(batch) }
        case .wait(let batch, let until):
            let bound = NIOLoopBound(self, eventLoop: loop)
            waits[batch] = loop.scheduleTask(deadline: until) {
                bound.value.tell { $0.endWait(of: batch, at: $1) }
            }
        case .cancelWait(let batch): waits.removeValue(forKey: batch)?.cancel()
        case .replaceExpiredToken:
            do { try fields.replaceExpiredToken(at: state.moment.wall) } catch { state.failure = "\(error)" }
        case .keepToken: fields.keepToken(at: state.moment.wall)
        }
    }

    private func send(_ tag: Int, over id: Int) {
        if last?.id != id { last = connections[id] }
        guard let push = state.requests[tag]?.push, let connection = last, connection.session.room > 0 else {
            return tell { $0.sendFailed(tag, nil, at: $1) }
        }
        do {
            let kind = fields.index(of: push.kind)
            connection.submit(push, try fields.current(kind, at: state.moment.wall), tag: tag)
        } catch {
            tell { $0.sendFailed(tag, "the provider token cannot be made: \(error)", at: $1) }
        }
    }

    /// Reports a batch's new answers together, once in each turn of the event loop.
    private func report(_ batch: Int) {
        if let (answered, answers) = state.takeAnswers(of: batch) { answered(answers) }
    }

    // MARK: Dialing

    /// Connects to the server, or to the proxy if there is one. Each connection looks up the host in DNS again.
    private func dial(_ id: Int) {
        let connection = APNsConnection(self, id)
        connections[id] = connection
        let loopBound = NIOLoopBound((self, connection), eventLoop: loop)
        let plan = plan
        ClientBootstrap(group: loop)
            .resolver(surroundings.resolver(loop))
            .connectTimeout(TimeAmount(surroundings.dialing.timeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try Self.prepare(channel, plan) }
            }
            .connect(host: plan.proxy?.host ?? plan.host, port: plan.proxy?.port ?? plan.port)
            .flatMapThrowing { try $0.pipeline.syncOperations.addHandler(loopBound.value.1) }
            .whenComplete { loopBound.value.0.dialed(id, $0) }
    }

    /// Prepares the channel for one attempt to connect. Each address that is tried gets a channel of its own.
    /// ``dial(_:)`` adds the ``APNsConnection`` later, and only to the channel that connected.
    private static func prepare(_ channel: any Channel, _ plan: PoolPlan) throws {
        let pipeline = channel.pipeline.syncOperations
        if plan.proxy != nil {
            try pipeline.addHandler(ProxyTunnel(to: plan.host, plan.port, authorization: plan.proxyAuthorization))
        }
        let name = plan.host.isIPAddress ? nil : plan.host
        try pipeline.addHandler(NIOSSLClientHandler(context: plan.tls, serverHostname: name))
    }

    private func dialed(_ id: Int, _ result: Result<Void, any Error>) {
        switch result {
        case .success: tell { $0.dialed(id, at: $1) }
        case .failure(let error):
            connections[id] = nil
            tell { $0.ended(id, plan.serverName.words(for: error, isDialing: true), at: $1) }
        }
    }
}

extension String {
    /// TLS server names cannot be IP addresses (RFC 6066, section 3).
    fileprivate var isIPAddress: Bool {
        do {
            _ = try SocketAddress(ipAddress: self, port: 0)
            return true
        } catch { return false }
    }
}
