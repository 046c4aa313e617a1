import EventLog
import PipelineKit
import Time

/// One event, or one wake, whose outputs are appended part by part.
struct OpenStep {
    var unfinished: UnfinishedStep
    /// Nil for a wake.
    var event: UInt64?
    /// Outputs still to come that the log has from before a restart.
    var known: UInt64 = 0
}

/// Steps that take several batches: between two of them the stage is asked nothing else, and the host may attend to its
/// consumers.
extension LinkedStageWork {
    /// Parts that one turn of the loop appends: then consumers are served before it goes on.
    private static var turnPartsMax: Int { 16 }

    /// Serves every deadline up to a time.
    ///
    /// - Returns: False where a step must wait.
    func serveDeadlines(through time: Instant) throws -> Bool {
        guard try finishStep() else { return false }
        while clock?.isDue(at: time) == true {
            guard try wakeOnce() else { return false }
            pour()
        }
        try checkFault()
        return true
    }

    /// - Throws: ``StageFault``, where the stage is one that nobody could go on with.
    private func checkFault() throws {
        guard var fault = clock?.fault else { return }
        fault.stage = plan.stage
        throw fault
    }

    /// At the end of all input a stage may still be woken for what it holds, but not for ever.
    ///
    /// - Throws: ``StageFault``
    func checkEnd(at time: Instant) throws {
        guard time == .distantFuture, let clock, clock.fruitlessWakes >= StageFault.wakesMax,
            let next = clock.stage.deadline
        else { return }
        let now = clock.now
        throw StageFault(stage: plan.stage, wakes: clock.fruitlessWakes, from: now, to: now, next: next)
    }

    private func wakeOnce() throws -> Bool {
        let before = out.count
        clock?.beginWake(into: &out)
        noteStep(.wake, of: nil, outputsBefore: before)
        return try finishStep()
    }

    /// Takes note that the stage is in the middle of what it was just given, if it is.
    @inline(__always)
    func noteStep(_ kind: UnfinishedStep.Kind, of event: UInt64?, outputsBefore: Int) {
        if resumption != nil || clock?.isUnfinished == true { openStep(kind, event, outputsBefore) }
    }

    private func openStep(_ kind: UnfinishedStep.Kind, _ event: UInt64?, _ outputsBefore: Int) {
        let next = outlet.log.nextSequence
        if let past = resumption, past.kind == kind {
            step = OpenStep(unfinished: past, event: event, known: next - past.first)
            (resumption, mustRecord) = (nil, true)
        } else {
            step = OpenStep(unfinished: UnfinishedStep(kind, first: next + UInt64(outputsBefore)), event: event)
        }
    }

    /// Brings the step in hand to its end.
    ///
    /// - Returns: False where it must wait, for room in the log or for the loop's next turn.
    func finishStep() throws -> Bool {
        guard step != nil else { return true }
        dropKnown()
        while clock?.isUnfinished == true {
            guard try appendPart() else { return false }
            clock?.proceed(into: &out)
            dropKnown()
        }
        if let event = step?.event { taken = event }
        step = nil
        return true
    }

    /// After a restart a step is done again from its beginning.
    private func dropKnown() {
        guard let known = step?.known, known > 0 else { return }
        let count = min(out.count, Int(clamping: known))
        out.removeEvents(first: count)
        step?.known = known - UInt64(count)
    }

    /// - Returns: False where nothing was appended, and the stage has to wait before it says more.
    private func appendPart() throws -> Bool {
        guard out.count > 0, let step, let now = clock?.now else { return true }
        guard parts < Self.turnPartsMax else { return false }
        let cursor = Cursor(upstreamName, taken, unfinished: step.unfinished, past: outlet.log.cursor)
        guard try append(cursor, now: now) == .appended else { return false }
        parts += 1
        mustRecord = true
        return true
    }

    // MARK: Going on after a restart

    /// A wake needs no input: what the log has a part of goes on at once. An event is waited for, and ends under the
    /// settings that it began under.
    func resume() throws {
        guard resumption?.kind == .wake else {
            while let settings = epochs?.next(beforeEvent: committed + 1) { try adopt(settings) }
            return
        }
        let time = outlet.log.lastNow
        while let settings = epochs?.next(beforeWakeAt: time) { try adopt(settings) }
        while let moment = clock?.nextWake, moment < time {
            clock?.beginWake(into: &out)
            while clock?.isUnfinished == true { clock?.proceed(into: &out) }
            out.discard()
        }
        out.discard()
        try checkFault()
        if clock?.nextWake == time { _ = try wakeOnce() } else { resumption = nil }
    }
}
