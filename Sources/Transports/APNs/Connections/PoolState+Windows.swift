import NIOCore
import PipelineKit

/// How pushes come in, how long they wait for answers, and how answers are reported.
extension PoolState {
    typealias Answered = @Sendable ([TransportAnswer]) -> Void

    /// Pushes that the pool took together, and the window in which it waits for their answers.
    struct Batch {
        /// The number of pushes without a first answer.
        var outstanding: Int
        /// The number of pushes that were reported as still in flight, and whose final answers must still be reported.
        var late = 0
        /// The value of ``PoolState/answerCount`` when the batch began.
        let answersBefore: Int
        /// Called with the answers.
        let answered: Answered
        /// Answers that were not reported yet.
        var answers: [TransportAnswer] = []
    }

    /// Adds pushes. Each push gets one answer. If this answer says that the push is still in flight, the final answer
    /// follows. There is no final answer if the pool is closed first, or gives the push back to the stage
    /// (``handBack()``). If the stage passes the push again while it is in flight, the batch of the later call gets the
    /// final answer.
    ///
    /// - Parameter windowLength: How long the window is. If the server is unresponsive or cannot be reached, the
    ///   window is empty instead.
    mutating func add(_ pushes: [APNsPush], _ answered: @escaping Answered, windowLength: Duration, at moment: Moment) {
        self.moment = moment
        let (batch, windowLength) = begin(pushes.count, answered, windowLength)
        if isClosed {
            for push in pushes { answer(batch, notTaken(push.delivery.id, reason: Self.closed)) }
        } else {
            stopped = nil
            for push in pushes { add(push, batch) }
            fill()
        }
        wait(for: batch, windowLength)
    }

    /// Answers pushes of this retired pool when the stage passes them again. A push that has already left the pool is
    /// deferred. The next time that the stage passes this push, another pool sends it.
    mutating func join(
        _ ids: [Delivery.ID], _ answered: @escaping Answered, windowLength: Duration, at moment: Moment
    ) {
        self.moment = moment
        let (batch, windowLength) = begin(ids.count, answered, windowLength)
        for id in ids where !join(id, batch) { answer(batch, notTaken(id)) }
        wait(for: batch, windowLength)
    }

    private func notTaken(_ id: Delivery.ID, reason: String? = nil) -> TransportAnswer {
        TransportAnswer(id, .deferred, reason: reason, attempts: 0, until: moment.wall)
    }

    /// Begins a batch. Its window is empty if the server is unresponsive or cannot be reached.
    private mutating func begin(
        _ count: Int, _ answered: @escaping Answered, _ windowLength: Duration
    ) -> (Int, Duration) {
        let isStuck = timedOutInLastWindow || (dialFailures > 0 && !connections.contains(where: \.isConnected))
        let batch = Batch(outstanding: count, answersBefore: answerCount, answered: answered)
        return (batches.insert(batch), isStuck ? .zero : windowLength)
    }

    private mutating func wait(for batch: Int, _ windowLength: Duration) {
        guard let outstanding = batches[batch]?.outstanding, outstanding > 0 else { return }
        actions.append(.wait(batch: batch, until: moment.now + .nanoseconds(windowLength.nanoseconds)))
    }

    private mutating func add(_ push: APNsPush, _ batch: Int) {
        if !late.isEmpty || !lateAnswers.isEmpty, join(push.delivery.id, batch) { return }
        if let deferred = pausedAnswer(push) { return answer(batch, deferred) }
        let tag = requests.insert(Request(push: push, receivedAt: moment.now, batch: batch))
        guard let orderKey = push.orderKey else { return waiting.append(tag) }
        if queues[orderKey] == nil {
            queues[orderKey] = CircularBuffer()
            waiting.append(tag)
        } else {
            requests[tag]?.isBehind = true
            queues[orderKey]?.append(tag)
        }
    }

    mutating func pausedAnswer(_ push: APNsPush) -> TransportAnswer? {
        guard let (until, answer) = pause else { return nil }
        guard moment.wall < until else {
            pause = nil
            return nil
        }
        return TransportAnswer(
            push.delivery.id, .deferred, status: answer.status, reason: answer.reason, attempts: 0, until: until)
    }

    /// Lets the batch wait for a push that is already in flight, or gives the batch the push's late answer.
    ///
    /// - Returns: Whether there was such a push or answer.
    private mutating func join(_ id: Delivery.ID, _ batch: Int) -> Bool {
        if let found = lateAnswers.removeValue(forKey: id) {
            answer(batch, found.answer)
            return true
        }
        guard let tag = late.removeValue(forKey: id), let former = requests[tag]?.batch else { return false }
        batches[former]?.late -= 1
        freeIfDone(former)
        requests[tag]?.batch = batch
        requests[tag]?.isLate = false
        return true
    }

    /// Ends the window of a batch. Pushes without an answer are deferred.
    mutating func endWait(of batch: Int, at moment: Moment) {
        self.moment = moment
        endWindow(of: batch)
    }

    private mutating func endWindow(of number: Int) {
        guard let batch = batches[number], batch.outstanding > 0 else { return }
        if batch.answersBefore == answerCount { timedOutInLastWindow = true }
        for tag in requests.indices where requests[tag]?.batch == number {
            guard let request = requests[tag], !request.isLate else { continue }
            if request.flight != nil || request.attempts > 0 {
                answer(number, deferLate(tag, request))
            } else {
                answer(
                    number,
                    deferral(
                        request, .briefly, reason: request.isBehind ? Self.behind : failure ?? reasonWithoutFailure,
                        tries: dialFailures, attempts: 0))
                withdraw(tag)
            }
        }
        // In one pass, because a batch may have thousands of pushes.
        waiting.removeAll { requests[$0] == nil }
    }

    /// Why a push was not sent, if no connection failed.
    private var reasonWithoutFailure: String {
        let connected = connections.filter(\.isConnected)
        if connected.contains(where: { $0.missing == nil }) { return "no stream to the server is free" }
        return options.server.words(for: connected.first?.missing ?? .silent, isDialing: connected.isEmpty)
    }

    private var noAnswer: String { options.server.words(for: ConnectionFailure.silent) }

    private func reasonForLate(_ request: Request) -> String {
        request.flight == nil ? failure ?? "waits for a free stream" : Self.inFlight
    }

    /// The reason for a push that waits for an earlier push with the same order key.
    static let behind = "waits for an earlier push"
    static let inFlight = "in_flight"
    static let noAnswerCame = "no answer"
    static let reset = "reset with code "
    /// Reasons which mean that the server may have accepted the push. A reason that begins with ``reset`` means this
    /// too.
    static let unansweredReasons = [inFlight, noAnswerCame]

    mutating func endAllWindows() {
        for batch in batches.indices { endWindow(of: batch) }
    }

    private mutating func deferLate(_ tag: Int, _ request: Request) -> TransportAnswer {
        requests[tag]?.deferrals += 1
        requests[tag]?.isLate = true
        batches[request.batch]?.late += 1
        late[request.push.delivery.id] = tag
        var answer = deferral(
            request, .briefly, reason: options.failsFast ? failure ?? noAnswer : reasonForLate(request),
            tries: request.deferrals + 1, attempts: 0)
        answer.isUnderWay = true
        return answer
    }

    // MARK: Reports

    /// Gives a push its first answer in this batch.
    mutating func answer(_ batch: Int, _ answer: TransportAnswer) {
        let outstanding = batches[batch]?.outstanding ?? 0
        precondition(outstanding > 0, "a batch got more first answers than it has pushes")
        batches[batch]?.outstanding = outstanding - 1
        if outstanding == 1 { actions.append(.cancelWait(batch: batch)) }
        report(batch, answer)
    }

    mutating func report(_ batch: Int, _ answer: TransportAnswer) {
        if batches[batch]?.answers.isEmpty == true { actions.append(.report(batch: batch)) }
        batches[batch]?.answers.append(answer)
    }

    /// Removes the answers that were not reported yet.
    ///
    /// - Returns: The answers and the call that reports them; nil if there are no answers.
    mutating func takeAnswers(of number: Int) -> (answered: Answered, answers: [TransportAnswer])? {
        guard let batch = batches[number], !batch.answers.isEmpty else { return nil }
        batches[number]?.answers = []
        freeIfDone(number)
        return (batch.answered, batch.answers)
    }

    mutating func freeIfDone(_ number: Int) {
        guard let batch = batches[number], batch.outstanding == 0, batch.late == 0, batch.answers.isEmpty else {
            return
        }
        batches.remove(number)
    }
}
