import EventLog
import PipelineKit

/// Pushes on their way to transports, and answers on their way to the stage.
///
/// Each batch of the stage's log covers some events and after them some answers. No event follows an answer in the same
/// batch. A replay feeds the stage the events up to the batch's cursor, then the answers in the batch. If a
/// ``PushSink`` replaces the transports, the stage gets the answers to an event's pushes before the next event: see
/// ``answerFromSink()``.
extension ConsumerLoop {
    /// Puts the pushes in the outbox into the queues of their transports, and takes the pushes that the stage has
    /// withdrawn out of these queues. Called after the log has recorded that the pushes are handed out. ``dispatch()``
    /// sends them.
    func queuePushes() {
        let deliveries = out.takeDeliveries()
        if !deliveries.isEmpty { transports.append(deliveries.filter(goesToTransport)) }
        transports.withdraw(out.takeWithdrawals())
    }

    /// Returns whether the delivery goes to a transport. If the delivery is a status query for a closed transport,
    /// answers it and returns false.
    private func goesToTransport(_ delivery: Delivery) -> Bool {
        guard let answer = inFlightJournal?.answerForClosedTransport(to: delivery) else { return true }
        transports.collect([answer])
        return false
    }

    /// Sends queued pushes to the transports that have room.
    func dispatch() throws {
        guard state.mayHandOut(conditions), out.isEmpty else { return }
        for line in transports.takeComplaints() { StandardError.write("\(plan.stage): \(line)") }
        let handovers = transports.next()
        guard !handovers.isEmpty else { return }
        let isNoted = try outlet.attempt { () throws(EventLogError) in
            try inFlightJournal?.note(handovers.lazy.flatMap(\.pushes), after: outlet.log.lastSequence)
        }
        guard isNoted else { return transports.putBack(handovers) }
        for handover in handovers { transports.send(handover) }
    }

    /// Gives the stage the waiting answers and records the answers. Their time is the log's current time or, in virtual
    /// time, the stage's time.
    func takeAnswers() throws {
        guard state.hasCaughtUp, transports.hasAnswers, try commit(), let now = clock?.now else { return }
        let time = plan.clock == .wall ? max(now, logNow) : now
        guard try wakeStageAndCommit(through: time) else { return }
        clock?.advance(to: time, into: &out)
        // A wake may have just handed out a push again, and a late answer that ends this push may be waiting.
        // `transports.takeAnswers()` below removes such a push, but only from its transport's queue. So the commit puts
        // the push into this queue first.
        guard try out.deliveries.isEmpty || commit() else { return }
        state.requireRecord()
        var answers = transports.takeAnswers()
        inFlightJournal?.mark(&answers)
        shift(&answers)
        for answer in answers { clock?.receive(answer, into: &out) }
        guard try commit(), plan.clock == .wall else { return }
        // The answers may set deadlines. The stage must be woken for them before further pushes are handed out.
        try wakeStageAndCommit(through: time.advanced(by: .microseconds(1)))
    }

    /// Converts times of transports, which use the machine's clock, to the log's time.
    private func shift(_ answers: inout [TransportAnswer]) {
        let shift = outlet.clockBehind
        guard shift != .zero else { return }
        for index in answers.indices {
            answers[index].until = answers[index].until?.advanced(by: shift)
            answers[index].since = answers[index].since?.advanced(by: shift)
        }
    }

    func noteAtRest() throws {
        guard transports.isResting, out.isEmpty, inFlightJournal != nil else { return }
        _ = try outlet.attempt { () throws(EventLogError) in
            try inFlightJournal?.noteAtRest(after: outlet.log.lastSequence)
        }
    }

    /// If a sink replaces the transports, passes the pushes to it and answers them at once as accepted.
    func answerFromSink() {
        guard let sink = transports.sink else { return }
        while case let deliveries = out.takeDeliveries(), !deliveries.isEmpty {
            sink(deliveries)
            for delivery in deliveries { clock?.receive(TransportAnswer(delivery.id, .accepted), into: &out) }
        }
    }
}
