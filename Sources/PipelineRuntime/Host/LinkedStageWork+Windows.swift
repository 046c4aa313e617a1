import EventLog
import PipelineKit

/// How many pushes come together before they are handed out.
struct WindowWidth {
    /// What the transports may have under way.
    var most = Int.max
    /// The most that one event gave in the window before: so many more still have to fit.
    private var widest = 1
    private var count = 0
    private var widestNow = 1

    /// To be asked behind each event.
    @inline(__always)
    mutating func isFull(_ deliveries: Int) -> Bool {
        guard deliveries != count else { return false }
        widestNow = max(widestNow, deliveries - count)
        count = deliveries
        return most < .max && deliveries + max(1, min(widest, most / 2)) > most
    }

    mutating func begin() { (widest, widestNow, count) = (widestNow, 1, 0) }
}

/// Pushes that are out. Each part of a window is answered as a whole, and on record before the next goes out: what a
/// crash sends a second time is one part at most.
extension LinkedStageWork {
    func handOut(_ deliveries: [Delivery]) throws {
        guard !deliveries.isEmpty else { return }
        outputsBefore = out.count
        width.begin()
        isPartOnRecord = true
        try transports.deliver(deliveries, noting: noteGoingOut)
    }

    /// When the whole window is answered, its last outcomes and its cursor become one batch.
    ///
    /// Its time is the wall's, but never one at which the stage would have been woken: whoever feeds the stage its past
    /// again wakes it before the batch's time.
    func takeAnswers() throws {
        guard clock != nil else { return }
        if var answers = transports.takeAnswers() {
            underWay?.mark(&answers)
            shift(&answers)
            for answer in answers { clock?.receive(answer, into: &out) }
            guard transports.cut != nil else {
                windowStep = nil
                if plan.clock == .wall {
                    let now = logNow
                    clock?.drift(to: now)
                }
                try commit()
                return
            }
        }
        if transports.canGoOn { try recordPart() }
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

    /// Puts on record what the last part came to, and hands out the next. Where the log has no room it is tried again.
    ///
    /// Its time is the one at which the stage was given the rest of the window.
    private func recordPart() throws {
        guard let now = clock?.now, let cut = transports.cut else { return }
        let cursor = cursor(at: cut)
        guard try append(cursor, now: now, always: !isPartOnRecord) != .noRoom else { return }
        (mustRecord, outputsBefore, isPartOnRecord) = (true, 0, true)
        try transports.goOn(noting: noteGoingOut)
    }

    /// - Returns: Nil where there is no room for what is to be known of a part: then it does not go out yet.
    private func noteGoingOut(_ part: ArraySlice<Delivery>) throws -> TransportCrew.GoingOut? {
        let going = goingOut(of: part)
        let isNoted = try outlet.attempt { () throws(EventLogError) in
            try underWay?.note(going.pushes, after: outlet.log.lastSequence)
        }
        guard isNoted else { return nil }
        isPartOnRecord = false
        return going
    }

    private func goingOut(of part: ArraySlice<Delivery>) -> TransportCrew.GoingOut {
        guard underWay != nil, part.contains(where: \.isQuestion) else { return .init(pushes: part) }
        var going = TransportCrew.GoingOut(pushes: [])
        for delivery in part {
            if let lost = underWay?.lostAnswer(to: delivery) {
                going.answers.append(lost)
            } else {
                going.pushes.append(delivery)
            }
        }
        return going
    }

    /// - Returns: False where there is no room for what transports still have.
    func noteUnderWay() throws -> Bool {
        guard underWay?.isStale == true else { return true }
        return try outlet.attempt { () throws(EventLogError) in try underWay?.write() }
    }

    /// Leaves behind that no part is out.
    func rest() throws {
        guard transports.isIdle, out.isEmpty, underWay != nil else { return }
        _ = try outlet.attempt { () throws(EventLogError) in
            try underWay?.rest(after: outlet.log.lastSequence)
        }
    }

    private func cursor(at cut: TransportCrew.Cut) -> Cursor {
        var position = taken
        if windowStep?.kind != .wake {
            position = cut.push - 1
            let step = windowStep ?? UnfinishedStep(.event, first: outlet.log.nextSequence + UInt64(outputsBefore))
            windowStep = cut.isWithinPush ? step : nil
        }
        return Cursor(upstreamName, position, unfinished: windowStep, past: outlet.log.cursor)
    }

    /// Lets every push that was handed out be answered, so that the stage can be woken: what it makes of time must not
    /// depend on how fast a transport was.
    ///
    /// - Returns: False where a window is out.
    func settle() throws -> Bool {
        guard rebuild == nil else {
            answerFromPast()
            return true
        }
        try handOut(out.takeDeliveries())
        return transports.isIdle
    }

    /// Gives the stage the answers that the log has to what it just handed out. The rest is for the transports.
    func answerAgain() {
        var deliveries = out.takeDeliveries()[...]
        while let delivery = deliveries.first, let answer = recorded?.recordedAnswer(to: delivery) {
            clock?.receive(answer, into: &out)
            deliveries.removeFirst()
        }
        for delivery in deliveries { out.deliver(delivery) }
        if deliveries.isEmpty { windowStep = nil }
        recorded = nil
    }
}
