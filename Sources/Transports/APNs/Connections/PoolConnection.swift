import NIOCore

/// What a pool knows of one of its connections. It is told by number: the socket is the host's.
///
/// | State | Requests | What ends it |
/// |---|---|---|
/// | ``State/dialing`` | none | the socket stands: greeting; it does not: gone |
/// | ``State/greeting`` | none | the server's SETTINGS: proving with tokens, else ready; none in time: gone |
/// | ``State/proving`` | one at a time, until APNs has answered one with another status than 403 | that answer: ready |
/// | ``State/ready`` | as many as the server allows | GOAWAY, an answer that is a reason to leave, other settings: draining |
/// | ``State/draining`` | no new one | the last answer: closed, and gone |
/// | ``State/ending`` | no new one: it broke HTTP/2, or its PING has no answer | the socket's end: gone |
struct PoolConnection {
    enum State { case dialing, greeting, proving, ready, draining, ending }

    let id: Int
    let begun: NIODeadline
    /// Without tokens nothing is to be proven (Sending notification requests to APNs).
    let isTrusted: Bool
    var state = State.dialing
    /// What of the server, or of the proxy before it, has not come yet.
    var missing: ConnectionFailure? = .noTunnel
    /// How many requests wait for their answers.
    var active = 0
    private var streamsMax = 0
    /// How many more requests it has stream numbers for (RFC 9113, section 5.1.1).
    var numbersLeft = Int(HTTP2Session.lastStreamMax) / 2
    /// Whether something was answered on it that is no reason to leave it.
    var isProven = false
    var serverErrorsInARow = 0
    /// Whether it gave a request back too often.
    var isGivenUp = false
    var lifeSigns: LifeSigns
    /// Why it ends, if the socket does not say.
    var endReason: String?

    init(_ id: Int, isTrusted: Bool, at now: NIODeadline) {
        (self.id, begun, self.isTrusted, lifeSigns) = (id, now, isTrusted, LifeSigns(at: now))
    }

    /// How many requests it takes now.
    var room: Int { max(0, min(min(capacity, streamsMax) - active, numbersLeft)) }

    /// How many requests may be under way on it at a time.
    var capacity: Int {
        switch state {
        case .ready: streamsMax
        case .proving: 1
        case .dialing, .greeting, .draining, .ending: 0
        }
    }

    /// Whether it has one of the pool's places, and its socket stands.
    var isStanding: Bool { state != .dialing && state != .draining }

    mutating func stand() { state = missing != nil ? .greeting : isTrusted ? .ready : .proving }

    mutating func settle(streamsMax: Int) {
        (self.streamsMax, missing) = (streamsMax, nil)
        if state == .greeting { stand() }
    }

    mutating func trust() { if state == .proving { state = .ready } }
}
