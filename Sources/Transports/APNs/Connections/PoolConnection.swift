import NIOCore

/// The state of a connection of a pool. ``ConnectionPool`` has the connection's socket, under the same number.
///
/// | State | Requests | Next state |
/// |---|---|---|
/// | ``State/dialing`` | none | socket connected: greeting; failed: removed |
/// | ``State/greeting`` | none | SETTINGS arrive: ready if ``isTrusted``, else proving; not in time: removed |
/// | ``State/proving`` | one at a time | an answer whose status is not 403: ready |
/// | ``State/ready`` | as many as the server allows | replaced (``PoolState/replace(_:)``): draining |
/// | ``State/draining`` | no new ones | no request is in flight any more: closed and removed |
/// | ``State/ending`` | no new ones, because the session ended or a PING was not answered | socket closed: removed |
///
/// A connection may also be replaced before it is ready. It is then draining.
struct PoolConnection {
    enum State { case dialing, greeting, proving, ready, draining, ending }

    let id: Int
    let begun: NIODeadline
    /// Whether the state `proving` is skipped, because the pool uses a certificate (Apple,
    /// "Sending notification requests to APNs").
    let isTrusted: Bool
    var state = State.dialing
    /// The failure to report if the connection does not get further; nil once the server has sent SETTINGS.
    var missing: ConnectionFailure? = .noTunnel
    /// The number of requests in flight.
    var active = 0
    private var streamsMax = 0
    /// How many more requests the stream numbers allow (RFC 9113, section 5.1.1).
    var numbersLeft = Int(HTTP2Session.lastStreamMax) / 2
    /// Whether the server gave an answer that is no reason to doubt the connection (``Treatment/Connection/keep``).
    var hasWorked = false
    /// How many answers in a row were ``Treatment/Connection/suspect``.
    var suspectAnswersInARow = 0
    /// Whether the connection was replaced because a push on it had to be sent again too often:
    /// ``PoolState/returnsMax`` times (``PoolState/Request/returned``). The earlier times may have been on other
    /// connections.
    var isGivenUp = false
    var health: ConnectionHealth
    /// Why the connection ends, if the socket gives no reason.
    var endReason: String?

    init(_ id: Int, isTrusted: Bool, at now: NIODeadline) {
        (self.id, begun, self.isTrusted, health) = (id, now, isTrusted, ConnectionHealth(at: now))
    }

    /// How many requests can be sent now.
    var room: Int { max(0, min(min(capacity, streamsMax) - active, numbersLeft)) }

    /// How many requests may be in flight at the same time.
    var capacity: Int {
        switch state {
        case .ready: streamsMax
        case .proving: 1
        case .dialing, .greeting, .draining, .ending: 0
        }
    }

    /// Whether the socket is connected, and the connection is not draining.
    var isConnected: Bool { state != .dialing && state != .draining }

    /// Enters the next state. Called when the socket is connected, and again when SETTINGS have come.
    mutating func enterNextState() { state = missing != nil ? .greeting : isTrusted ? .ready : .proving }

    mutating func receiveSettings(streamsMax: Int) {
        (self.streamsMax, missing) = (streamsMax, nil)
        if state == .greeting { enterNextState() }
    }

    mutating func trust() { if state == .proving { state = .ready } }
}
