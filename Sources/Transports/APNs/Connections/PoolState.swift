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
/// | ``Activity/retired`` | what was not written is given back, what is under way ends | close |
/// | ``Activity/closed`` | nothing: all pushes were answered | |
///
/// A push waits (for an earlier push with its order key, or for room), is in flight on one connection, and is answered:
/// once, or twice if it is still in flight when its window ends. ``PoolConnection`` has the states of a connection.
struct PoolState {
    enum Activity { case idle, dialing, backingOff, proving, ready, paused, stopped, retired, closed }

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

    /// When something happened, and the chance that goes with it.
    struct Moment {
        var now: NIODeadline
        var wall: Instant
        /// From 0 to 1: another one for each wait.
        var jitter: () -> Double
    }

    var options: Options
    var moment: Moment
    var actions: [Action] = []
    var requests = Slots<Request>()
    var batches = Slots<Batch>()
    var waiting = CircularBuffer<Int>()
    /// In the order in which they connected; draining ones in the order in which they were replaced.
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
    var failure: String?
    /// What APNs said of all apps of the credential, in GOAWAY.
    var stopped: APNsReason?
    /// Until when nothing is sent, and what APNs said: it counts too many tokens of the key.
    var pause: (until: Instant, answer: APNsAnswer)?
    var queues: [[UInt8]: CircularBuffer<Int>] = [:]
    /// Pushes that were told to take longer, by what they are.
    var late: [Delivery.ID: Int] = [:]
    /// Their answers, for as long as they may be asked for.
    var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: NIODeadline)] = [:]
    /// By topic.
    var refusalsInARow: [String: Int] = [:]
    /// When a connection was last replaced for a cause.
    var replacedAt: [ReplacementCause: NIODeadline] = [:]
    var isClosed = false
    /// Whether no app uses it any more: it ends what is under way.
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

    /// - Parameter renews: Whether the open connections cannot be used with the new options. They finish what is in flight;
    ///   waiting pushes go over new connections.
    mutating func use(_ options: Options, renews: Bool, at moment: Moment) {
        (self.options, self.moment) = (options, moment)
        if renews {
            renew()
            (dialFailures, nextDial, stopped, pause, replacedAt) = (0, moment.now, nil, nil, [:])
        }
        let connected = connections.filter(\.isConnected).map(\.id)
        for id in connected.dropFirst(options.connections).reversed() { replace(id) }
        fill()
    }

    /// Sends nothing more, because no app uses the pool; pushes in flight finish.
    mutating func retire(at moment: Moment) {
        (self.moment, isRetired) = (moment, true)
        renew()
        handBack()
    }

    /// Closes the connections. Unanswered pushes are deferred.
    mutating func close(at moment: Moment) {
        (self.moment, isClosed, waiting, queues) = (moment, true, [], [:])
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
