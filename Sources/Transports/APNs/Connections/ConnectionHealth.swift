import NIOCore

/// Decides when a connection needs a PING, and when it counts as dead.
struct ConnectionHealth {
    enum Finding: Equatable {
        case healthy
        case sendPing
        case dead
    }

    // Clients may check the connection with PING (Apple, "Establishing a connection to APNs").
    /// How long the server may send nothing before it gets a PING, if requests are in flight now.
    static let silenceMax = TimeAmount.seconds(15)
    /// How long the server may send nothing before it gets a PING, if no request is in flight now.
    static let idleMax = TimeAmount.minutes(55)
    /// How long the server may send nothing after a PING, before the connection counts as dead.
    static let answerWait = TimeAmount.seconds(10)

    private var lastRead: NIODeadline
    private var pingSent: NIODeadline?

    init(at now: NIODeadline) { lastRead = now }

    /// Notes that the server sent bytes, which prove that the connection is alive.
    mutating func noteRead(at now: NIODeadline) { (lastRead, pingSent) = (now, nil) }

    /// - Parameter isBusy: Whether requests are in flight.
    mutating func check(at now: NIODeadline, isBusy: Bool) -> Finding {
        if let pingSent { return now - pingSent > Self.answerWait ? .dead : .healthy }
        guard now - lastRead > (isBusy ? Self.silenceMax : Self.idleMax) else { return .healthy }
        pingSent = now
        return .sendPing
    }
}
