import NIOCore
import PipelineKit
import Time

/// The connections that carry the pushes of one credential, and the pushes that wait for room on them.
///
/// Everything in it belongs to one event loop. A pool knows of no other: what its server does stays with its apps.
final class ConnectionPool {
    private(set) var plan: PoolPlan
    let loop: any EventLoop
    let surroundings: Surroundings
    let allowance: Allowance
    var fields: SharedFields
    var requests: [Request?] = []
    var freeTags: [Int] = []
    var waiting = CircularBuffer<Int>()
    var connections: [APNsConnection] = []
    /// Those whose last requests are still to be answered.
    var retiring: [APNsConnection] = []
    /// Those that are being opened.
    var dialing: [APNsConnection] = []
    var dialFailures = 0
    var nextDial = NIODeadline.now()
    /// How often the server answered a request.
    var answers = 0
    /// Whether a wait ended in which it answered none, and it has not answered since.
    var wasWaitedForInVain = false { didSet { allowance.isSilent = wasWaitedForInVain } }
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
    var ticks: RepeatedTask?
    var isClosed = false
    /// Whether no app uses it any more: it ends what is under way.
    private(set) var isLeaving = false

    /// How long an answer is kept that nobody asks for.
    static let lateAnswerAge = TimeAmount.minutes(60)
    static let tickInterval = TimeAmount.milliseconds(100)
    /// A push that servers give back so often in a row waits.
    static let returnsMax = 10
    static let serverErrorsMax = 5
    static let refusalsMax = 10

    init(_ plan: PoolPlan, _ loop: any EventLoop, _ surroundings: Surroundings, _ allowance: Allowance) {
        self.plan = plan
        self.allowance = allowance
        self.loop = loop
        self.surroundings = surroundings
        fields = SharedFields(plan)
    }

    // MARK: Writing

    /// Hands waiting pushes to the connections that have room.
    func fill() {
        noteAllowance()
        if waiting.isEmpty { return }
        if isLeaving { return handBack() }
        dialIfNeeded()
        while !waiting.isEmpty, let connection = roomiest {
            var room = connection.room
            while room > 0, let tag = waiting.popFirst() {
                write(tag, to: connection)
                room -= 1
            }
            if connection.session.isSpent {
                connection.flush()
                replace(connection)
            }
        }
    }

    /// Pushes that were told to take longer keep their streams.
    private func noteAllowance() {
        let capacity = connections.reduce(0) { $0 + $1.capacity }
        allowance.count = max(1, capacity - late.count)
    }

    private var roomiest: APNsConnection? {
        connections.max { $0.room < $1.room }.flatMap { $0.room > 0 ? $0 : nil }
    }

    private func write(_ tag: Int, to connection: APNsConnection) {
        guard let (push, kind) = requests[tag].map({ ($0.push, $0.kind) }) else { return }
        let now = surroundings.now()
        if let expiration = push.expiration, expiration <= now { return giveBack(tag, at: now) }
        do {
            let shared = try fields.current(kind, at: now)
            let stream = connection.submit(push, shared, tag: tag)
            requests[tag]?.attempts += 1
            requests[tag]?.flight = .init(
                connection: connection, stream: stream, deadline: .now() + .nanoseconds(plan.timeout.nanoseconds))
        } catch {
            finish(tag, .stopped, reason: "the provider token cannot be made: \(error)")
        }
    }

    /// It is too old to be sent, which is for the stage to say.
    private func giveBack(_ tag: Int, at now: Instant) {
        guard let id = requests[tag]?.push.delivery.id else { return }
        end(tag, TransportAnswer(id, .deferred, reason: "expired", attempts: 0, until: now))
    }

    func flushAll() {
        for connection in connections { connection.flush() }
    }

    // MARK: Ending

    /// The push is final, or its wait is for others to keep.
    func end(_ tag: Int, _ answer: TransportAnswer) {
        guard let request = requests[tag] else { return }
        requests[tag] = nil
        freeTags.append(tag)
        if let lane = request.push.lane { leave(lane, tag) }
        if let batch = request.batch {
            batch.answer(answer)
        } else {
            late[request.push.delivery.id] = nil
            lateAnswers[request.push.delivery.id] = (answer, .now())
            request.report.add(answer)
        }
    }

    func finish(_ tag: Int, _ outcome: TransportAnswer.Outcome, _ answer: APNsAnswer? = nil, reason: String? = nil) {
        guard let request = requests[tag] else { return }
        let said = answer.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        end(
            tag,
            TransportAnswer(
                request.push.delivery.id, outcome, status: answer?.status, reason: reason ?? said,
                attempts: request.attempts, since: outcome == .unregistered ? answer?.timestamp : nil,
                mayRepeat: request.mayRepeat, receipt: answer?.receipt))
    }

    /// - Parameters:
    ///   - tries: What the wait depends on; nil: how often the push was sent.
    ///   - attempts: What is new of them.
    func deferral(
        _ request: Request, _ wait: Treatment.Wait, _ answer: APNsAnswer? = nil, reason: String? = nil,
        tries: Int? = nil, attempts: Int
    ) -> TransportAnswer {
        let said = answer.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        let delay = plan.backoff.wait(
            wait, attempts: tries ?? request.push.delivery.attempts + request.attempts, jitter: surroundings.jitter(),
            retryAfter: answer?.retryAfter)
        return TransportAnswer(
            request.push.delivery.id, .deferred, status: answer?.status, reason: reason ?? said, attempts: attempts,
            until: surroundings.now().advanced(by: delay), mayRepeat: request.mayRepeat, receipt: answer?.receipt)
    }

    // MARK: Another plan

    /// Goes on under another plan. Where its connections cannot carry what that wants, they end what is under way, and
    /// what waits goes over new ones.
    func use(_ new: PoolPlan) {
        let needsOthers = new.needsOtherConnections(than: plan)
        plan = new
        fields.use(new)
        if needsOthers {
            renew()
            (dialFailures, nextDial, stopped, pause, left) = (0, .now(), nil, nil, [:])
        }
        while connections.count > plan.connections, let last = connections.last { replace(last) }
        fill()
        flushAll()
    }

    /// No app uses it any more: what is under way ends, and nothing begins.
    func leave() {
        isLeaving = true
        renew()
        handBack()
    }

    struct Held: Sendable {
        /// Pushes that it has, or has answers to, until they are asked for.
        var pushes: Set<Delivery.ID> = []
        /// See ``APNsPush/lane``.
        var lanes: Set<[UInt8]> = []
    }

    var held: Held { Held(pushes: Set(late.keys).union(lateAnswers.keys), lanes: Set(lanes.keys)) }

    /// Answers for pushes that it was given before; those that it does not have are to be sent elsewhere.
    func join(_ ids: [Delivery.ID], _ answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        let batch = Batch(count: ids.count, answersBefore: answers, AnswerReport(loop, answered))
        let patience = patience
        for id in ids where !join(id, batch) {
            batch.answer(TransportAnswer(id, .deferred, attempts: 0, until: surroundings.now()))
        }
        wait(for: batch, patience)
    }

    /// What was not written yet is for the pool that takes its app over.
    private func handBack() {
        while let tag = waiting.popFirst() {
            guard let request = requests[tag] else { continue }
            late[request.push.delivery.id] = nil
            request.batch?.answer(deferral(request, .unanswered, reason: Self.closed, tries: 1, attempts: 0))
            withdraw(tag)
        }
    }

    func leave(_ lane: [UInt8], _ tag: Int) {
        if lanes[lane]?.first == tag || lanes[lane]?.contains(tag) == true {
            lanes[lane]?.removeAll { $0 == tag }
            return
        }
        guard let next = lanes[lane]?.popFirst() else {
            lanes[lane] = nil
            return
        }
        requests[next]?.isBehind = false
        waiting.append(next)
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
