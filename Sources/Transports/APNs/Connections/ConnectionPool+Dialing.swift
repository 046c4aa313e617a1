import NIOCore
import NIOPosix
import NIOSSL

extension ConnectionPool {
    /// Opens connections up to the plan's number, each with a fresh look at DNS.
    func dialIfNeeded() {
        guard stopped == nil, connections.count + dialing.count < plan.connections, NIODeadline.now() >= nextDial else {
            return
        }
        let missing = plan.connections - connections.count - dialing.count
        // One tells whether the server is there; the others follow.
        for _ in 0..<(dialFailures > 0 ? min(1, missing) : missing) { dial() }
    }

    private func dial() {
        let connection = APNsConnection(self, isTrusted: plan.token == nil)
        dialing.append(connection)
        let loopBound = NIOLoopBound((self, connection), eventLoop: loop)
        let (plan, loop, deadline) = (plan, loop, dialDeadline)
        ClientBootstrap(group: loop)
            .connectTimeout(deadline)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.prepare(channel, plan, loopBound.value.1)
                }
            }
            .connect(host: plan.proxy?.host ?? plan.host, port: plan.proxy?.port ?? plan.port)
            .hop(to: loop)
            .whenComplete { result in
                let (pool, connection) = loopBound.value
                pool.dialed(connection, result.map { _ in () })
            }
    }

    private var dialDeadline: TimeAmount { .nanoseconds(surroundings.dialing.deadline.nanoseconds) }

    private static func prepare(_ channel: any Channel, _ plan: PoolPlan, _ connection: APNsConnection) throws {
        let pipeline = channel.pipeline.syncOperations
        if plan.proxy != nil {
            try pipeline.addHandler(ProxyTunnel(to: plan.host, plan.port, authorization: plan.proxyAuthorization))
        }
        let name = plan.host.isIPAddress ? nil : plan.host
        try pipeline.addHandler(NIOSSLClientHandler(context: plan.tls, serverHostname: name))
        try pipeline.addHandler(connection)
    }

    private func dialed(_ connection: APNsConnection, _ result: Result<Void, any Error>) {
        dialing.removeAll { $0 === connection }
        guard !connection.isRetired else { return connection.end() }
        switch result {
        case .success: if !connection.isDead { connections.append(connection) }
        case .failure(let error): dialFailed(plan.words(for: error, isDialing: true))
        }
    }

    /// Every connection ends what is under way on it; what goes next goes over new ones.
    func renew() {
        for connection in connections { replace(connection) }
        for connection in dialing { connection.retire() }
        dialing = []
    }

    /// No new request goes over it, and another takes its place.
    func replace(_ connection: APNsConnection) {
        guard !connection.isRetired else { return }
        connections.removeAll { $0 === connection }
        retiring.append(connection)
        connection.retire()
    }

    /// Opening connections and leaving them fast looks like an attack: one that was left soon, and on which nothing was
    /// taken, counts as one that failed.
    func waitAfter(_ connection: APNsConnection, _ reason: String) {
        let wait = TimeAmount.nanoseconds(surroundings.dialing.longestWait.nanoseconds)
        if !connection.isProven, .now() - connection.begun < wait { dialFailed(reason) }
    }

    /// The connection is gone; its requests have already been given back.
    func connectionFailed(_ connection: APNsConnection, _ error: any Error) {
        connection.isDead = true
        connections.removeAll { $0 === connection }
        retiring.removeAll { $0 === connection }
        if !connection.isRetired { dialFailed(plan.words(for: error)) }
    }

    func dialFailed(_ reason: String) {
        trouble = reason
        dialFailures += 1
        nextDial = .now() + surroundings.dialing.wait(afterFailures: dialFailures, jitter: surroundings.jitter())
        if surroundings.asksOnce { releaseAll() }
    }

    // MARK: Time

    func beginTicks() {
        guard ticks == nil else { return }
        let loopBound = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: Self.tickInterval, delay: Self.tickInterval) { _ in
            loopBound.value.tick(at: .now())
        }
    }

    private func tick(at now: NIODeadline) {
        for tag in requests.indices {
            guard let flight = requests[tag]?.flight, flight.deadline <= now else { continue }
            flight.connection.cancel(tag: tag, stream: flight.stream)
        }
        for connection in connections { connection.endIfOverdue(at: now, dialDeadline) }
        for connection in connections + retiring where connection.checkHealth(at: now) {
            connection.end(because: Trouble.silent)
        }
        if !lateAnswers.isEmpty { lateAnswers = lateAnswers.filter { now - $0.value.since < Self.lateAnswerAge } }
        fill()
        flushAll()
    }

    /// Who still waits for an answer is told to ask again elsewhere.
    func close() {
        isClosed = true
        ticks?.cancel()
        ticks = nil
        for tag in requests.indices { leaveOpen(tag) }
        waiting = []
        for connection in connections + retiring { connection.end() }
        connections = []
    }

    private func leaveOpen(_ tag: Int) {
        guard var request = requests[tag] else { return }
        requests[tag] = nil
        if request.flight != nil { request.mayRepeat = true }
        request.batch?.answer(deferral(request, .unanswered, reason: Self.closed, attempts: request.attempts))
        request.report.flush()
    }

    static let closed = "the transport was closed"
}

extension String {
    /// TLS has no server names for these (RFC 6066, section 3).
    fileprivate var isIPAddress: Bool {
        do {
            _ = try SocketAddress(ipAddress: self, port: 0)
            return true
        } catch { return false }
    }
}
