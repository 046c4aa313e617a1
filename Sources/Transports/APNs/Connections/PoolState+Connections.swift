import NIOCore

/// How connections come about, and how they end.
extension PoolState {
    func index(of id: Int) -> Int? { connections.firstIndex { $0.id == id } }

    /// Whether no new request goes over it.
    func isDraining(_ id: Int) -> Bool { index(of: id).map { connections[$0].state == .draining } ?? true }

    /// Opens connections up to the options' number.
    mutating func dialIfNeeded() {
        let missing = options.connections - connections.count { $0.state != .draining }
        guard stopped == nil, missing > 0, moment.now >= nextDial else { return }
        // One tells whether the server is there; the others follow.
        for _ in 0..<(dialFailures > 0 ? 1 : missing) {
            connectionsMade += 1
            connections.append(PoolConnection(connectionsMade, isTrusted: !options.hasToken, at: moment.now))
            actions.append(.dial(connectionsMade))
        }
    }

    /// The socket stands.
    mutating func dialed(_ id: Int, at moment: Moment) {
        self.moment = moment
        guard let index = index(of: id) else { return }
        if connections[index].state == .draining { return actions.append(.close(id)) }
        connections[index].socketConnected()
        connections.append(connections.remove(at: index))
    }

    /// A connection has come so far.
    ///
    /// - Parameter missing: What is to come next.
    mutating func progressed(_ id: Int, missing: ConnectionFailure) {
        if let index = index(of: id), connections[index].missing != nil { connections[index].missing = missing }
    }

    /// The connection is gone, or there never was a socket; its requests have already been given back, or will be.
    ///
    /// - Parameter reason: Nil where the socket gave none.
    mutating func ended(_ id: Int, _ reason: String?, at moment: Moment) {
        self.moment = moment
        guard let index = index(of: id) else { return }
        let connection = connections.remove(at: index)
        guard connection.state != .draining else { return }
        dialFailed(reason ?? connection.endReason ?? options.server.words(for: ConnectionFailure.closed))
    }

    mutating func dialFailed(_ reason: String) {
        failure = reason
        dialFailures += 1
        nextDial = moment.now + options.dialing.wait(afterFailures: dialFailures, jitter: moment.jitter())
        if options.failsFast { releaseAll() }
    }

    /// Every connection ends what is under way on it; what goes next goes over new ones.
    mutating func renew() {
        for id in connections.map(\.id) { replace(id) }
    }

    /// No new request goes over it, and another takes its place.
    mutating func replace(_ id: Int) {
        guard !isDraining(id), let index = index(of: id) else { return }
        var connection = connections.remove(at: index)
        connection.state = .draining
        connections.append(connection)
        closeIfDrained(id)
    }

    mutating func closeIfDrained(_ id: Int) {
        let isDrained = connections.contains { $0.id == id && $0.state == .draining && $0.active == 0 }
        if isDrained { actions.append(.close(id)) }
    }

    mutating func endConnection(_ id: Int, because reason: String?) {
        guard let index = index(of: id) else { return }
        if connections[index].state != .draining { connections[index].state = .ending }
        connections[index].endReason = connections[index].endReason ?? reason
        actions.append(.close(id))
    }

    /// Opening connections and leaving them fast looks like an attack: one that was left soon, and on which nothing was
    /// taken, counts as one that failed.
    mutating func waitAfter(_ connection: PoolConnection, _ reason: String) {
        let wait = TimeAmount.nanoseconds(options.dialing.longestWait.nanoseconds)
        if !connection.isProven, moment.now - connection.begun < wait { dialFailed(reason) }
    }

    // MARK: Time

    /// Time has passed: to be called often.
    mutating func tick(at moment: Moment) {
        self.moment = moment
        for tag in requests.indices {
            guard let flight = requests[tag]?.flight, flight.deadline <= moment.now else { continue }
            actions.append(.cancel(tag: tag, over: flight.connection))
        }
        for connection in connections { check(connection) }
        if !lateAnswers.isEmpty {
            lateAnswers = lateAnswers.filter { moment.now - $0.value.since < Self.lateAnswerAge }
        }
        fill()
    }

    private mutating func check(_ connection: PoolConnection) {
        guard let missing = connection.missing else { return checkHealth(connection.id) }
        let deadline = TimeAmount.nanoseconds(options.dialing.deadline.nanoseconds)
        guard connection.isConnected, moment.now - connection.begun > deadline else { return }
        actions.append(.close(connection.id))
        ended(connection.id, options.server.words(for: missing), at: moment)
    }

    private mutating func checkHealth(_ id: Int) {
        guard let index = index(of: id) else { return }
        switch connections[index].health.check(at: moment.now, isBusy: connections[index].active > 0) {
        case .healthy: break
        case .sendPing: actions.append(.ping(id))
        case .dead: endConnection(id, because: options.server.words(for: ConnectionFailure.silent))
        }
    }

    /// How long an answer is kept that nobody asks for.
    static let lateAnswerAge = TimeAmount.minutes(60)
    /// A push that servers give back so often in a row waits.
    static let returnsMax = 10
    static let serverErrorsMax = 5
    static let refusalsMax = 10
    static let closed = "the transport was closed"
}
