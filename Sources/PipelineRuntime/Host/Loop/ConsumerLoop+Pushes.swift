import EventLog
import PipelineKit

/// Pushes on their way to transports, and their answers on their way to the stage.
///
/// A batch of the stage's log takes in events, or answers, never an answer before an event: whoever feeds the stage its
/// past again gives it the events up to the batch's cursor, and then the answers that the batch records.
extension ConsumerLoop {
    /// Gives what the stage has handed out to its transports. Called when that is on record.
    func handOut() {
        let deliveries = out.takeDeliveries()
        if !deliveries.isEmpty { transports.append(deliveries.filter(isAsked)) }
        transports.withdraw(out.takeWithdrawals())
    }

    /// Whether there is a transport to ask: a question about what a closed transport had is answered here.
    private func isAsked(_ delivery: Delivery) -> Bool {
        guard let lost = inFlightJournal?.lostAnswer(to: delivery) else { return true }
        transports.take([lost])
        return false
    }

    /// Hands to transports what they have room for.
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

    /// Gives the stage the answers that have come, at the wall's time, and puts them on record.
    func takeAnswers() throws {
        guard state.hasCaughtUp, transports.hasAnswers, try commit(), let now = clock?.now else { return }
        let time = plan.clock == .wall ? max(now, logNow) : now
        guard try serve(through: time) else { return }
        clock?.advance(to: time, into: &out)
        state.requireRecord()
        var answers = transports.takeAnswers()
        inFlightJournal?.mark(&answers)
        shift(&answers)
        for answer in answers { clock?.receive(answer, into: &out) }
        guard try commit(), plan.clock == .wall else { return }
        // What the answers bring about counts before anything else goes out.
        try serve(through: time.advanced(by: .microseconds(1)))
    }

    /// Transports go by the machine's clock, the stage by its log's time.
    private func shift(_ answers: inout [TransportAnswer]) {
        let shift = outlet.clockBehind
        guard shift != .zero else { return }
        for index in answers.indices {
            answers[index].until = answers[index].until?.advanced(by: shift)
            answers[index].since = answers[index].since?.advanced(by: shift)
        }
    }

    /// Leaves behind that no transport has a push.
    func rest() throws {
        guard transports.isResting, out.isEmpty, inFlightJournal != nil else { return }
        _ = try outlet.attempt { () throws(EventLogError) in
            try inFlightJournal?.rest(after: outlet.log.lastSequence)
        }
    }

    /// Answers at once what was handed out, where a sink takes the place of the transports.
    func pour() {
        guard let sink = transports.sink else { return }
        while case let deliveries = out.takeDeliveries(), !deliveries.isEmpty {
            sink(deliveries)
            for delivery in deliveries { clock?.receive(TransportAnswer(delivery.id, .accepted), into: &out) }
        }
    }
}
