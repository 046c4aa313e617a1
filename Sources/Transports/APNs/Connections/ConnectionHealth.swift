import NIOCore

/// Decides when a connection needs a PING, and when it counts as dead.
struct ConnectionHealth {
    enum Finding: Equatable {
        case healthy
        case sendPing
        case dead
    }

    // Establishing a connection to APNs: clients may check the connection with PING.
    static let silenceMax = TimeAmount.seconds(15)
    static let idleMax = TimeAmount.minutes(55)
    static let answerWait = TimeAmount.seconds(10)

    private var lastRead: NIODeadline
    private var asked: NIODeadline?

    init(at now: NIODeadline) { lastRead = now }

    /// Notes that the server sent bytes, which prove that the connection is alive.
    mutating func noteRead(at now: NIODeadline) { (lastRead, asked) = (now, nil) }

    /// - Parameter isBusy: Whether requests are in flight.
    mutating func check(at now: NIODeadline, isBusy: Bool) -> Finding {
        if let asked { return now - asked > Self.answerWait ? .dead : .healthy }
        guard now - lastRead > (isBusy ? Self.silenceMax : Self.idleMax) else { return .healthy }
        asked = now
        return .sendPing
    }
}
