import EventLog
import PipelineKit
import Time

/// Steps that take several batches: between two of them the stage is asked nothing else, and the host may attend to its
/// consumers.
extension ConsumerLoop {
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
        guard !state.hasCaughtUp && state.resumption != nil || clock?.isUnfinished == true else { return }
        state.beginStep(kind, of: event, behind: outputsBefore, next: outlet.log.nextSequence)
    }

    /// Brings the step in hand to its end.
    ///
    /// - Returns: False where it must wait, for room in the log or for the loop's next turn.
    func finishStep() throws -> Bool {
        guard state.step != nil else { return true }
        dropKnown()
        while clock?.isUnfinished == true {
            guard try appendPart() else { return false }
            clock?.proceed(into: &out)
            dropKnown()
        }
        state.endStep()
        return true
    }

    private func dropKnown() {
        let known = state.dropKnown(of: out.count)
        if known > 0 { out.removeEvents(first: known) }
    }

    /// - Returns: False where nothing was appended, and the stage has to wait before it says more.
    private func appendPart() throws -> Bool {
        guard out.count > 0, let step = state.step, let now = clock?.now else { return true }
        guard state.mayAppendPart else { return false }
        let cursor = Cursor(upstreamName, state.taken, unfinished: step.unfinished, past: outlet.log.cursor)
        guard try append(cursor, now: now) == .appended else { return false }
        state.notePart()
        return true
    }

    // MARK: Going on after a restart

    /// A wake needs no input: what the log has a part of goes on at once. An event is waited for, and ends under the
    /// settings that it began under.
    func resume() throws {
        guard state.resumption?.kind == .wake else {
            while let settings = epochs?.next(beforeEvent: state.committed + 1) { try adopt(settings) }
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
        if clock?.nextWake == time { _ = try wakeOnce() } else { state.dropResumption() }
    }
}
