import NIOCore

/// When a server is asked whether it is still there, and when its connection counts as dead.
struct LifeSigns {
    enum Finding: Equatable {
        case well
        /// It is to be asked, with a PING.
        case ask
        case dead
    }

    /// Establishing a connection to APNs: a health check by PING is allowed.
    static let silenceMax = TimeAmount.seconds(15)
    static let idleMax = TimeAmount.minutes(55)
    static let answerWait = TimeAmount.seconds(10)

    private var lastRead: NIODeadline
    private var asked: NIODeadline?

    init(at now: NIODeadline) { lastRead = now }

    /// The server sent something: whatever it is, it is there.
    mutating func noteRead(at now: NIODeadline) { (lastRead, asked) = (now, nil) }

    /// - Parameter isBusy: Whether requests wait for their answers.
    mutating func check(at now: NIODeadline, isBusy: Bool) -> Finding {
        if let asked { return now - asked > Self.answerWait ? .dead : .well }
        guard now - lastRead > (isBusy ? Self.silenceMax : Self.idleMax) else { return .well }
        asked = now
        return .ask
    }
}
