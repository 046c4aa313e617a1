import NIOCore
import PipelineKit
import Time

/// The connections that carry the pushes of one credential, and the pushes that wait for room on them: a value that knows
/// no socket, no clock and no chance. The pool tells it what happened, and when, and does what ``actions`` says.
///
/// | State | What is done in it | What ends it |
/// |---|---|---|
/// | ``Activity/idle`` | nothing is to be sent | pushes come |
/// | ``Activity/dialing`` | pushes wait, no connection takes any yet | SETTINGS come; a connection fails: backing off |
/// | ``Activity/backingOff`` | pushes wait, no connection is opened | the wait is over: one is dialled |
/// | ``Activity/proving`` | each connection has one push under way | an answer to it |
/// | ``Activity/ready`` | each connection has as many as its server allows | the last connection is left or fails |
/// | ``Activity/paused`` | pushes are put off: APNs counts too many tokens of the key | time; an accepted push |
/// | ``Activity/stopped`` | nothing is dialled: GOAWAY refused the credential | pushes come; other settings |
/// | ``Activity/leaving`` | what was not written is given back, what is under way ends | close |
/// | ``Activity/closed`` | nothing: all pushes were answered | |
///
/// A push waits (in its lane, or for room), is under way on one connection, and is answered: once, or once as in flight,
/// when its window ends, and once for good. ``PoolConnection`` has the states of a connection.
struct PoolState {
    enum Activity { case idle, dialing, backingOff, proving, ready, paused, stopped, leaving, closed }

    /// What the pool is to do, in this order. What it cannot do it says.
    enum Action: Equatable {
        /// To open that connection: ``dialed(_:at:)``, ``ended(_:_:at:)``.
        case dial(Int)
        /// To write a push to a connection: ``unsendable(_:_:at:)``.
        case send(tag: Int, over: Int)
        /// To reset the push's stream.
        case cancel(tag: Int, over: Int)
        case ping(Int)
        /// To end a connection, if that has not been done: ``ended(_:_:at:)``.
        case close(Int)
        /// To fetch the batch's answers with ``takeAnswers(of:)`` soon.
        case report(batch: Int)
        /// To call ``endWait(of:at:)`` at that time.
        case wait(batch: Int, until: NIODeadline)
        case endWait(batch: Int)
        /// APNs called the token expired.
        case refuseToken
        /// APNs counted too many tokens.
        case keepToken
    }

    /// What settings say.
    struct Terms {
        var connections: Int
        var timeout: Duration
        var backoff: Backoff
        var hasToken: Bool
        var server: ServerName
        var dialing: Dialing
        /// See ``Surroundings/asksOnce``.
        var asksOnce: Bool
    }

    /// When something happened, and the chance that goes with it.
    struct Moment {
        var now: NIODeadline
        var wall: Instant
        /// From 0 to 1: another one for each wait.
        var jitter: () -> Double
    }

    var terms: Terms
    var moment: Moment
    var actions: [Action] = []
    var requests = Slots<Request>()
    var batches = Slots<Batch>()
    var waiting = CircularBuffer<Int>()
    /// Those that stand are in the order in which they came to, those that drain in that in which they were left.
    var connections: [PoolConnection] = []
    var connectionsMade = 0
    var dialFailures = 0
    var nextDial: NIODeadline
    /// How often the server answered a request.
    var answers = 0
    /// Whether a wait ended in which the server answered none, and it has not answered since.
    var timedOutInLastWindow = false
    /// How many pushes may be under way.
    var allowance = 1
    /// Why there is no connection.
    var trouble: String?
    /// What APNs said of all apps of the credential, in GOAWAY.
    var stopped: APNsReason?
    /// Until when nothing is sent, and what APNs said: it counts too many tokens of the key.
    var pause: (until: Instant, answer: APNsAnswer)?
    var lanes: [[UInt8]: CircularBuffer<Int>] = [:]
    /// Pushes that were told to take longer, by what they are.
    var late: [Delivery.ID: Int] = [:]
    /// Their answers, for as long as they may be asked for.
    var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: NIODeadline)] = [:]
    /// By topic.
    var refusalsInARow: [String: Int] = [:]
    /// When a connection was last left for a cause.
    var left: [Cause: NIODeadline] = [:]
    var isClosed = false
    /// Whether no app uses it any more: it ends what is under way.
    var isLeaving = false

    init(_ terms: Terms, at moment: Moment) {
        (self.terms, self.moment, nextDial) = (terms, moment, moment.now)
    }

    var activity: Activity {
        let states = connections.map(\.state)
        if isClosed { return .closed }
        if isLeaving { return .leaving }
        if stopped != nil { return .stopped }
        if let pause, moment.wall < pause.until { return .paused }
        if states.contains(.ready) { return .ready }
        if states.contains(.proving) { return .proving }
        if states.contains(.dialing) || states.contains(.greeting) { return .dialing }
        return dialFailures > 0 && moment.now < nextDial ? .backingOff : waiting.isEmpty ? .idle : .dialing
    }

    // MARK: Settings

    /// - Parameter renews: Whether connections that there are cannot carry what the new terms want: they end what is under
    ///   way, and what waits goes over new ones.
    mutating func use(_ terms: Terms, renews: Bool, at moment: Moment) {
        (self.terms, self.moment) = (terms, moment)
        if renews {
            renew()
            (dialFailures, nextDial, stopped, pause, left) = (0, moment.now, nil, nil, [:])
        }
        let standing = connections.filter(\.isStanding).map(\.id)
        for id in standing.dropFirst(terms.connections).reversed() { replace(id) }
        fill()
    }

    /// No app uses it any more: what is under way ends, and nothing begins.
    mutating func leave(at moment: Moment) {
        (self.moment, isLeaving) = (moment, true)
        renew()
        handBack()
    }

    /// Who still waits for an answer is told to ask again elsewhere.
    mutating func close(at moment: Moment) {
        (self.moment, isClosed, waiting, lanes) = (moment, true, [], [:])
        for tag in requests.indices { leaveOpen(tag) }
        for index in connections.indices {
            connections[index].state = .draining
            actions.append(.close(connections[index].id))
        }
    }

    private mutating func leaveOpen(_ tag: Int) {
        guard var request = requests[tag] else { return }
        requests.remove(tag)
        if request.flight != nil { request.mayRepeat = true }
        if !request.isLate {
            answer(request.batch, deferral(request, .unanswered, reason: Self.closed, attempts: request.attempts))
        }
    }
}
