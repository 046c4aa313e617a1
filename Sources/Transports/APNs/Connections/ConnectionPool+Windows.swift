import NIOCore
import PipelineKit

/// How pushes come in, how long they wait, and what is said of what takes longer.
extension ConnectionPool {
    /// Takes pushes. Each has one answer, and one more where the first was that it takes longer.
    func take(_ pushes: [APNsPush], _ answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        guard !isClosed else {
            return answered(
                pushes.map {
                    TransportAnswer(
                        $0.delivery.id, .deferred, reason: Self.closed, attempts: 0, until: surroundings.now())
                })
        }
        stopped = nil
        beginTicks()
        let batch = Batch(count: pushes.count, answersBefore: answers, AnswerReport(loop, answered))
        let patience = patience
        for push in pushes { take(push, batch) }
        fill()
        flushAll()
        wait(for: batch, patience)
    }

    func wait(for batch: Batch, _ patience: TimeAmount) {
        guard batch.outstanding > 0 else { return }
        let loopBound = NIOLoopBound((self, batch), eventLoop: loop)
        batch.timeout = loop.scheduleTask(in: patience) {
            let (pool, batch) = loopBound.value
            pool.release(batch)
        }
    }

    var patience: TimeAmount { isStuck ? .zero : .nanoseconds(surroundings.patience().nanoseconds) }

    /// Whether the server takes nothing or cannot be reached: it is not waited for.
    private var isStuck: Bool { wasWaitedForInVain || (connections.isEmpty && dialFailures > 0) }

    func noteAnswer() { (answers, wasWaitedForInVain) = (answers + 1, false) }

    private func take(_ push: APNsPush, _ batch: Batch) {
        if !late.isEmpty || !lateAnswers.isEmpty, join(push.delivery.id, batch) { return }
        if let told = pausedAnswer(push) { return batch.answer(told) }
        let tag = freeTags.popLast() ?? requests.count
        if tag == requests.count { requests.append(nil) }
        requests[tag] = Request(
            push: push, kind: fields.index(of: push.kind), taken: batch.begun, batch: batch, report: batch.report)
        guard let lane = push.lane else { return waiting.append(tag) }
        if lanes[lane] == nil {
            lanes[lane] = CircularBuffer()
            waiting.append(tag)
        } else {
            requests[tag]?.isBehind = true
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
    func join(_ id: Delivery.ID, _ batch: Batch) -> Bool {
        if let found = lateAnswers.removeValue(forKey: id) {
            batch.answer(found.answer)
            return true
        }
        guard let tag = late.removeValue(forKey: id) else { return false }
        requests[tag]?.batch = batch
        requests[tag]?.report = batch.report
        return true
    }

    /// The wait ends: what has no answer yet is told to take longer.
    private func release(_ batch: Batch) {
        guard batch.outstanding > 0 else { return }
        if batch.answersBefore == answers { wasWaitedForInVain = true }
        for tag in requests.indices where requests[tag]?.batch === batch {
            guard let request = requests[tag] else { continue }
            requests[tag]?.batch = nil
            if request.flight != nil || request.attempts > 0 {
                batch.answer(keep(tag, request))
            } else {
                batch.answer(
                    deferral(
                        request, .unanswered, reason: request.isBehind ? Self.behind : trouble ?? noTrouble,
                        tries: dialFailures, attempts: 0))
                withdraw(tag)
            }
        }
        // Once for all: a batch may hold thousands.
        waiting.removeAll { requests[$0] == nil }
    }

    private var noTrouble: String {
        if connections.contains(where: \.isReady) { return "no room at the server" }
        return plan.words(for: connections.first?.missing ?? .silent, isDialing: connections.isEmpty)
    }

    private var noAnswer: String { plan.words(for: Trouble.silent) }

    private func why(_ request: Request) -> String {
        request.flight == nil ? trouble ?? "waits for room" : Self.inFlight
    }

    /// An earlier push of its collapse ID is under way.
    static let behind = "waits for an earlier push"
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
    func withdraw(_ tag: Int) {
        if let lane = requests[tag]?.push.lane { leave(lane, tag) }
        requests[tag] = nil
        freeTags.append(tag)
    }
}
