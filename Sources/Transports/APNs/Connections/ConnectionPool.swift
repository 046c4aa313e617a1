import EventLog
import NIOCore
import PipelineKit

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
    /// Why there is no connection.
    var trouble: String?
    /// What APNs said of all apps of the credential, in GOAWAY.
    var stopped: APNsReason?
    /// Until when nothing is sent, and what APNs said: it counts too many tokens of the key.
    var pause: (until: Instant, answer: APNsAnswer)?
    var lanes: [[UInt8]: CircularBuffer<Int>] = [:]
    /// Pushes that take longer than a window may, by what they are.
    var late: [Delivery.ID: Int] = [:]
    /// Their answers, until they are asked for.
    var lateAnswers: [Delivery.ID: (answer: TransportAnswer, since: NIODeadline)] = [:]
    var refusalsInARow = 0
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

    // MARK: Taking pushes

    /// Takes the pushes of one window; the promise gets one answer for each.
    func take(_ pushes: [APNsPush], _ promise: EventLoopPromise<[TransportAnswer]>) {
        guard !pushes.isEmpty else { return promise.succeed([]) }
        guard !isClosed else {
            return promise.succeed(
                pushes.map {
                    TransportAnswer(
                        $0.delivery.id, .deferred, reason: Self.closed, attempts: 0, until: surroundings.now())
                })
        }
        stopped = nil
        beginTicks()
        let batch = Batch(count: pushes.count, promise)
        let patience = patience
        for push in pushes { take(push, batch) }
        fill()
        flushAll()
        wait(for: batch, patience)
    }

    private func wait(for batch: Batch, _ patience: TimeAmount) {
        guard batch.outstanding > 0 else { return }
        let loopBound = NIOLoopBound((self, batch), eventLoop: loop)
        batch.timeout = loop.scheduleTask(in: patience) {
            let (pool, batch) = loopBound.value
            pool.release(batch)
        }
    }

    private var patience: TimeAmount { isStuck ? .zero : .nanoseconds(surroundings.patience().nanoseconds) }

    /// Whether the server is behind with what it was given, or cannot be reached: windows do not wait for it.
    private var isStuck: Bool { !late.isEmpty || (connections.isEmpty && dialFailures > 0) }

    private func take(_ push: APNsPush, _ batch: Batch) {
        if !late.isEmpty || !lateAnswers.isEmpty, join(push.delivery.id, batch) { return }
        if let told = pausedAnswer(push) { return batch.answer(told) }
        let tag = freeTags.popLast() ?? requests.count
        if tag == requests.count { requests.append(nil) }
        requests[tag] = Request(push: push, kind: fields.index(of: push.kind), batch: batch)
        guard let lane = push.lane else { return waiting.append(tag) }
        if lanes[lane] == nil {
            lanes[lane] = CircularBuffer()
            waiting.append(tag)
        } else {
            lanes[lane]?.append(tag)
        }
    }

    func pausedAnswer(_ push: APNsPush) -> TransportAnswer? {
        guard let (until, answer) = pause else { return nil }
        guard surroundings.now() < until else {
            pause = nil
            return nil
        }
        return TransportAnswer(
            push.delivery.id, .deferred, status: answer.status, reason: answer.reason, attempts: 0, until: until)
    }

    /// A push that is still under way is not sent twice.
    private func join(_ id: Delivery.ID, _ batch: Batch) -> Bool {
        if let found = lateAnswers.removeValue(forKey: id) {
            batch.answer(found.answer)
            return true
        }
        guard let tag = late.removeValue(forKey: id) else { return false }
        requests[tag]?.batch = batch
        return true
    }

    /// The window ends: what has no answer yet is told to take longer.
    private func release(_ batch: Batch) {
        guard batch.outstanding > 0 else { return }
        for tag in requests.indices where requests[tag]?.batch === batch {
            guard let request = requests[tag] else { continue }
            requests[tag]?.batch = nil
            if request.flight != nil || request.attempts > 0 {
                batch.answer(keep(tag, request))
            } else {
                batch.answer(
                    deferral(
                        request, .unanswered, reason: trouble ?? noTrouble, tries: dialFailures, attempts: 0))
                withdraw(tag)
            }
        }
        // Once for all: a window may hold thousands.
        waiting.removeAll { requests[$0] == nil }
    }

    private var noTrouble: String {
        if connections.contains(where: \.isReady) { return "no room at the server" }
        return plan.words(for: Trouble.silent, isDialing: connections.isEmpty)
    }

    private var noAnswer: String { plan.words(for: Trouble.silent) }

    private func why(_ request: Request) -> String { request.flight == nil ? "waits for room" : Self.inFlight }

    static let inFlight = "in_flight"
    static let noAnswerCame = "no answer"
    static let reset = "reset with code "
    /// What is said of a push that the server may have taken.
    static let unanswered = [inFlight, noAnswerCame]

    func releaseAll() {
        for batch in requests.compactMap({ $0?.batch }) { release(batch) }
    }

    private func keep(_ tag: Int, _ request: Request) -> TransportAnswer {
        requests[tag]?.handouts += 1
        late[request.push.delivery.id] = tag
        var answer = deferral(
            request, .unanswered, reason: surroundings.asksOnce ? trouble ?? noAnswer : why(request),
            tries: request.handouts + 1, attempts: 0)
        answer.isUnderWay = true
        return answer
    }

    /// Takes a push back that was never written. Its tag may still stand in ``waiting``.
    private func withdraw(_ tag: Int) {
        if let lane = requests[tag]?.push.lane { leave(lane, tag) }
        requests[tag] = nil
        freeTags.append(tag)
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

    /// Pushes that were told to take longer are not on record as over, whether they are or not.
    private func noteAllowance() {
        let capacity = connections.reduce(0) { $0 + $1.capacity }
        allowance.count = max(1, capacity - late.count - lateAnswers.count)
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
            (dialFailures, nextDial, stopped, pause) = (0, .now(), nil, nil)
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
    func join(_ ids: [Delivery.ID], _ promise: EventLoopPromise<[TransportAnswer]>) {
        let batch = Batch(count: ids.count, promise)
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

    private func leave(_ lane: [UInt8], _ tag: Int) {
        if lanes[lane]?.first == tag || lanes[lane]?.contains(tag) == true {
            lanes[lane]?.removeAll { $0 == tag }
            return
        }
        guard let next = lanes[lane]?.popFirst() else {
            lanes[lane] = nil
            return
        }
        waiting.append(next)
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
