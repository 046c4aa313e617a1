import NIOCore
import PipelineKit
import Time

/// The connections that carry the pushes of one credential, and the pushes that wait for room on them.
///
/// A state machine without sockets, clock and randomness: ``ConnectionPool`` reports each event and its time, and
/// performs the ``actions``.
///
/// | State | What the pool does | What ends it |
/// |---|---|---|
/// | ``Activity/idle`` | has no usable connection, and nothing to send | pushes come |
/// | ``Activity/dialing`` | opens connections; pushes wait | SETTINGS come; a connection fails: backing off |
/// | ``Activity/backingOff`` | opens no connection; pushes wait | the wait is over: dialing |
/// | ``Activity/proving`` | has at most one push in flight on each connection | an answer other than 403 |
/// | ``Activity/ready`` | has at most as many pushes in flight as the servers allow | no ready connection is left |
/// | ``Activity/paused`` | defers pushes: APNs counts too many tokens of the key | ``pause`` ends; an accepted push |
/// | ``Activity/stopped`` | no dialing: GOAWAY rejected the credential | pushes come |
/// | ``Activity/retired`` | defers waiting pushes; pushes in flight finish | close |
/// | ``Activity/closed`` | defers new pushes; all others were answered | |
///
/// Changed settings that need new connections also end `backingOff`, `paused` and `stopped`.
///
/// A push waits (for an earlier push with its order key, or for room), is in flight on one connection, and is answered:
/// once, or twice if it is still in flight when the window of its ``Batch`` ends. ``PoolConnection`` has the states of
/// a connection.
struct PoolState {
    enum Activity { case idle, dialing, backingOff, proving, ready, paused, stopped, retired, closed }

    /// A thing that ``ConnectionPool`` has to do.
    enum Action: Equatable {
        /// Open a connection; then call ``dialed(_:at:)`` or ``ended(_:_:at:)``.
        case dial(Int)
        /// Write a push to a connection. If that is impossible, call ``sendFailed(_:_:at:)``.
        case send(tag: Int, over: Int)
        /// Reset the push's stream.
        case cancel(tag: Int, over: Int)
        case ping(Int)
        /// Close a connection if it is open; then call ``ended(_:_:at:)``.
        case close(Int)
        /// Call ``takeAnswers(of:)`` soon, and report the answers.
        case report(batch: Int)
        /// Call ``endWait(of:at:)`` at that time.
        case wait(batch: Int, until: NIODeadline)
        /// Cancel the `wait`.
        case cancelWait(batch: Int)
        /// Replace the token, if ``SharedToken/replaceExpired(at:)`` allows it: APNs called the token expired.
        case replaceExpiredToken
        /// Make no new token for a while: APNs counted too many.
        case keepToken
    }

    /// The settings of the pool.
    struct Options {
        var connections: Int
        var timeout: Duration
        var backoff: Backoff
        var hasToken: Bool
        var server: ServerName
        var dialing: Dialing
        /// See ``Surroundings/failsFast``.
        var failsFast: Bool
    }

    /// When an event happened, and the randomness for the waits that follow from it.
    struct Moment {
        var now: NIODeadline
        var wall: Instant
        /// Makes a new random number from 0 to 1 for each wait.
        var jitter: () -> Double
    }

    var options: Options
    var moment: Moment
    /// What ``ConnectionPool`` has to do next, in this order.
    var actions: [Action] = []
    /// The pushes without a final answer. The number of a push here is its tag.
    var requests = Slots<Request>()
    var batches = Slots<Batch>()
    /// The tags of the pushes that wait for room on a connection. Pushes that wait for an earlier push are in
    /// ``queues`` instead.
    var waiting = CircularBuffer<Int>()
    /// All connections. A connection moves to the end when its socket is connected, and again when it is replaced.
    var connections: [PoolConnection] = []
    var connectionsMade = 0
    /// How many connections failed in a row: see ``connectionFailed(_:)``. The number is 0 again when a connection
    /// works, or when changed settings renew the connections.
    var dialFailures = 0
    var nextDial: NIODeadline
    /// How often the server answered a request.
    var answerCount = 0
    /// Whether a window ended without any answer, and the server has not answered since.
    var timedOutInLastWindow = false
    /// How many pushes may be in flight besides the ``late`` pushes; at least 1.
    var allowance = 1
    /// The newest failure: why a connection failed or received GOAWAY, or why an expired token could not be replaced.
    /// Nil if a server has sent SETTINGS or an answer since then.
    var failure: String?
    /// The reason in a GOAWAY that rejected the credential; nil again when pushes come, or when changed settings renew
    /// the connections.
    var stopped: APNsReason?
    /// If APNs counted too many tokens of the key: the time until which new pushes are deferred, and the answer with
    /// which APNs reported this.
    var pause: (until: Instant, answer: APNsAnswer)?
    /// Pushes that wait for an earlier push with the same order key, by this key. A key with only one push has an empty
    /// queue.
    var queues: [[UInt8]: CircularBuffer<Int>] = [:]
    /// The tags of pushes that were reported as still in flight.
    var late: [Delivery.ID: Int] = [:]
    /// The final answers of ``late`` pushes. They are kept in case the stage passes such a push again.
    var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: NIODeadline)] = [:]
    /// By topic: how many failures in a row had a reason that may concern the whole app: `Forbidden`, or an unknown
    /// reason.
    var appFailuresInARow: [String: Int] = [:]
    /// For each cause, the time at which a connection was replaced for it. Another replacement for the same cause
    /// updates the time, unless it replaces a connection that was opened before the time.
    var replacedAt: [ReplacementCause: NIODeadline] = [:]
    var isClosed = false
    /// Whether no app uses the pool any more. The pool then sends nothing, but pushes in flight still get their
    /// answers.
    var isRetired = false

    init(_ options: Options, at moment: Moment) {
        (self.options, self.moment, nextDial) = (options, moment, moment.now)
    }

    var activity: Activity {
        let states = connections.map(\.state)
        if isClosed { return .closed }
        if isRetired { return .retired }
        if stopped != nil { return .stopped }
        if let pause, moment.wall < pause.until { return .paused }
        if states.contains(.ready) { return .ready }
        if states.contains(.proving) { return .proving }
        if states.contains(.dialing) || states.contains(.greeting) { return .dialing }
        return dialFailures > 0 && moment.now < nextDial ? .backingOff : waiting.isEmpty ? .idle : .dialing
    }

    // MARK: Settings

    /// - Parameter renewsConnections: Whether waiting pushes need new connections. The open connections then only
    ///   finish the requests in flight.
    mutating func use(_ options: Options, renewsConnections: Bool, at moment: Moment) {
        (self.options, self.moment) = (options, moment)
        if renewsConnections {
            renew()
            (dialFailures, nextDial, stopped, pause, replacedAt) = (0, moment.now, nil, nil, [:])
        }
        let connected = connections.filter(\.isConnected).map(\.id)
        for id in connected.dropFirst(options.connections).reversed() { replace(id) }
        fill()
    }

    /// Sends no more pushes, because no app uses the pool any more. Gives waiting pushes back to the stage. Pushes in
    /// flight are still answered.
    mutating func retire(at moment: Moment) {
        (self.moment, isRetired) = (moment, true)
        renew()
        handBack()
    }

    /// Closes the connections. Unanswered pushes are deferred.
    mutating func close(at moment: Moment) {
        (self.moment, isClosed, waiting, queues) = (moment, true, [], [:])
        for tag in requests.indices { deferUnanswered(tag) }
        for index in connections.indices {
            connections[index].state = .draining
            actions.append(.close(connections[index].id))
        }
    }

    private mutating func deferUnanswered(_ tag: Int) {
        guard var request = requests[tag] else { return }
        requests.remove(tag)
        if request.flight != nil { request.mayRepeat = true }
        if !request.isLate {
            answer(request.batch, deferral(request, .briefly, reason: Self.closed, attempts: request.attempts))
        }
    }
}
