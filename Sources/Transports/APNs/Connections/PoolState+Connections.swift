import NIOCore

/// How connections begin and end.
extension PoolState {
    func index(of id: Int) -> Int? { connections.firstIndex { $0.id == id } }

    /// Whether the connection is draining, or there is no such connection.
    func isDraining(_ id: Int) -> Bool { index(of: id).map { connections[$0].state == .draining } ?? true }

    /// Opens connections until there are as many as the options say.
    mutating func dialIfNeeded() {
        let missing = options.connections - connections.count { $0.state != .draining }
        guard stopped == nil, missing > 0, moment.now >= nextDial else { return }
        // After a failure, only one connection is opened at a time, to find out whether the server can be reached.
        if dialFailures > 0, connections.contains(where: { $0.state != .draining && $0.missing != nil }) { return }
        for _ in 0..<(dialFailures > 0 ? 1 : missing) {
            connectionsMade += 1
            connections.append(PoolConnection(connectionsMade, isTrusted: !options.hasToken, at: moment.now))
            actions.append(.dial(connectionsMade))
        }
    }

    /// Called when the socket of a connection is connected.
    mutating func dialed(_ id: Int, at moment: Moment) {
        self.moment = moment
        guard let index = index(of: id) else { return }
        if connections[index].state == .draining { return actions.append(.close(id)) }
        connections[index].enterNextState()
        connections.append(connections.remove(at: index))
    }

    /// Called when one step of opening a connection is done, such as the TLS handshake.
    ///
    /// - Parameter missing: The failure to report if the next step is not done in time.
    mutating func progressed(_ id: Int, missing: ConnectionFailure) {
        if let index = index(of: id), connections[index].missing != nil { connections[index].missing = missing }
    }

    /// Called when a connection has ended or could not be opened. Its requests are handled by
    /// ``received(_:from:hasRead:isOver:at:)``, which may be called before or after this method.
    ///
    /// - Parameter reason: Nil if the socket gave no reason.
    mutating func ended(_ id: Int, _ reason: String?, at moment: Moment) {
        self.moment = moment
        guard let index = index(of: id) else { return }
        let connection = connections.remove(at: index)
        guard connection.state != .draining else { return }
        connectionFailed(reason ?? connection.endReason ?? options.server.words(for: ConnectionFailure.closed))
    }

    /// Counts a failed connection, and sets the time of the next attempt to open one.
    mutating func connectionFailed(_ reason: String) {
        failure = reason
        dialFailures += 1
        nextDial = moment.now + options.dialing.wait(afterFailures: dialFailures, jitter: moment.jitter())
        if options.failsFast { endAllWindows() }
    }

    /// Replaces all connections.
    mutating func renew() {
        for id in connections.map(\.id) { replace(id) }
    }

    /// Sends no new request over a connection. Requests in flight are still answered. Waiting pushes are sent over
    /// other connections.
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

    /// Counts a replaced connection as failed if it was opened recently and has never worked. The pool then waits
    /// before it opens the next one, because APNs may treat quick opening and closing of connections as an attack.
    mutating func waitAfter(_ connection: PoolConnection, _ reason: String) {
        let wait = TimeAmount.nanoseconds(options.dialing.longestWait.nanoseconds)
        if !connection.hasWorked, moment.now - connection.begun < wait { connectionFailed(reason) }
    }

    // MARK: Time

    /// Checks the deadlines and the connections. The pool calls this often.
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
        let timeout = TimeAmount.nanoseconds(options.dialing.timeout.nanoseconds)
        guard connection.isConnected, moment.now - connection.begun > timeout else { return }
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

    /// How long a late answer is kept if the stage does not pass its push again.
    static let lateAnswerAge = TimeAmount.minutes(60)
    /// A push that has come back this often (``Request/returned``) is deferred instead of being put back into
    /// ``waiting``.
    static let returnsMax = 10
    /// A connection with this many answers in a row that are ``Treatment/Connection/suspect`` is replaced.
    static let suspectAnswersMax = 5
    /// After this many failures in a row that may be the fault of the app, the app's pushes are stopped. See
    /// ``appFailuresInARow``.
    static let appFailuresMax = 10
    static let closed = "the transport was closed"
    static let retired = "the settings changed while the push waited"
}
