import NIOCore
import PipelineKit

extension PoolState {
    /// A push without its final answer.
    struct Request {
        let push: APNsPush
        let receivedAt: NIODeadline
        /// The batch that gets the answer.
        var batch: Int
        /// Whether the push was reported to its ``batch`` as still in flight.
        var isLate = false
        /// How often the push was written to a connection. Attempts that the server certainly did not process are not
        /// counted.
        var attempts = 0
        /// How often the push came back from a server to be sent again at once: the server did not process the request,
        /// or its answer called for another connection. See ``returnsMax``.
        var returned = 0
        /// How often the push was reported as still in flight.
        var deferrals = 0
        /// Whether the push was sent again at once, over another connection.
        var wasRetriedOnce = false
        /// Whether the push waits for an earlier push with its order key.
        var isBehind = false
        /// Whether the server may have processed an attempt that it did not answer.
        var mayRepeat = false
        /// The connection on which the push is in flight, and the deadline of its answer; nil while the push waits.
        var flight: (connection: Int, deadline: NIODeadline)?
    }

    // MARK: Writing

    /// Sends waiting pushes over the connections that have room.
    mutating func fill() {
        // The late pushes still occupy their streams.
        allowance = max(1, connections.reduce(0) { $0 + $1.capacity } - late.count)
        if waiting.isEmpty { return }
        if isRetired { return handBack() }
        dialIfNeeded()
        while !waiting.isEmpty,
            let roomiest = connections.indices.max(by: { connections[$0].room < connections[$1].room })
        {
            var room = connections[roomiest].room
            if room == 0 { return }
            while room > 0, let tag = waiting.popFirst() {
                send(tag, over: roomiest)
                room -= 1
            }
            if connections[roomiest].numbersLeft == 0 { replace(connections[roomiest].id) }
        }
    }

    private mutating func send(_ tag: Int, over index: Int) {
        guard let push = requests[tag]?.push else { return }
        if let expiration = push.expiration, expiration <= moment.wall { return deferExpired(tag) }
        requests[tag]?.attempts += 1
        requests[tag]?.flight = (connections[index].id, moment.now + .nanoseconds(options.timeout.nanoseconds))
        connections[index].active += 1
        connections[index].numbersLeft -= 1
        actions.append(.send(tag: tag, over: connections[index].id))
    }

    /// Defers a push whose expiration has passed. The stage then ends the push.
    private mutating func deferExpired(_ tag: Int) {
        guard let request = requests[tag] else { return }
        end(
            tag,
            TransportAnswer(
                request.push.delivery.id, .deferred, reason: "expired", attempts: request.attempts, until: moment.wall))
    }

    /// Called when the pool could not write a push.
    ///
    /// - Parameter reason: Why no connection can send the push; nil if only this connection cannot send it.
    mutating func sendFailed(_ tag: Int, _ reason: String?, at moment: Moment) {
        self.moment = moment
        guard let flight = requests[tag]?.flight else { return }
        endFlight(tag)
        requests[tag]?.attempts -= 1
        if let index = index(of: flight.connection) { connections[index].numbersLeft += 1 }
        if let reason { finish(tag, .stopped, reason: reason) } else { waiting.prepend(tag) }
        closeIfDrained(flight.connection)
        fill()
    }

    /// Notes that the stream of a request is closed.
    mutating func endFlight(_ tag: Int) {
        guard let id = requests[tag]?.flight?.connection else { return }
        requests[tag]?.flight = nil
        if let index = index(of: id) { connections[index].active -= 1 }
    }

    // MARK: Ending

    /// Removes a push, and reports its final answer.
    mutating func end(_ tag: Int, _ answer: TransportAnswer) {
        guard let request = requests[tag] else { return }
        requests.remove(tag)
        if let orderKey = request.push.orderKey { startNext(orderKey, after: tag) }
        guard request.isLate else { return self.answer(request.batch, answer) }
        late[answer.id] = nil
        lateAnswers[answer.id] = (answer, moment.now)
        batches[request.batch]?.late -= 1
        report(request.batch, answer)
    }

    mutating func finish(
        _ tag: Int, _ outcome: TransportAnswer.Outcome, _ answer: APNsAnswer? = nil, reason: String? = nil
    ) {
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
    ///   - tries: The number of attempts that decides the wait; nil for all attempts of the push so far.
    ///   - attempts: The attempts that the answer reports.
    func deferral(
        _ request: Request, _ wait: Treatment.Wait, _ answer: APNsAnswer? = nil, reason: String? = nil,
        tries: Int? = nil, attempts: Int
    ) -> TransportAnswer {
        let said = answer.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        let delay = options.backoff.wait(
            wait, attempts: tries ?? request.push.delivery.attempts + request.attempts, jitter: moment.jitter(),
            retryAfter: answer?.retryAfter)
        return TransportAnswer(
            request.push.delivery.id, .deferred, status: answer?.status, reason: reason ?? said, attempts: attempts,
            until: moment.wall.advanced(by: delay), mayRepeat: request.mayRepeat, receipt: answer?.receipt)
    }

    /// Gives the waiting pushes back to the stage: removes them, and defers those that were not deferred yet. The stage
    /// passes them again, and the pool that now serves their app sends them.
    mutating func handBack() {
        while let tag = waiting.popFirst() {
            guard let request = requests[tag] else { continue }
            if request.isLate {
                late[request.push.delivery.id] = nil
                batches[request.batch]?.late -= 1
                freeIfDone(request.batch)
            } else {
                answer(
                    request.batch,
                    deferral(request, .briefly, reason: Self.retired, tries: 1, attempts: request.attempts))
            }
            withdraw(tag)
        }
    }

    /// Removes a push that is not in flight. Its tag may still be in ``waiting``.
    mutating func withdraw(_ tag: Int) {
        if let orderKey = requests[tag]?.push.orderKey { startNext(orderKey, after: tag) }
        requests.remove(tag)
    }

    /// Called when a push with the order key is removed. If it was waiting behind another push, it leaves the queue.
    /// Otherwise the next push with the key may be sent.
    private mutating func startNext(_ orderKey: [UInt8], after tag: Int) {
        if queues[orderKey]?.contains(tag) == true {
            queues[orderKey]?.removeAll { $0 == tag }
        } else if let next = queues[orderKey]?.popFirst() {
            requests[next]?.isBehind = false
            waiting.append(next)
        } else {
            queues[orderKey] = nil
        }
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
