import EventLog
import PipelineKit
import Time

/// Steps whose outputs fill several batches. Between two of these batches the host may serve its consumers, but it
/// gives the stage no other event or answer.
extension ConsumerLoop {
    /// Wakes the stage for each deadline up to a time; false if a step must wait for room or for the loop's next turn.
    func wakeStage(through time: Instant) throws -> Bool {
        guard try finishStep() else { return false }
        while clock?.isDue(at: time) == true {
            guard try wakeOnce() else { return false }
            answerFromSink()
        }
        try checkFault()
        return true
    }

    /// - Throws: ``StageFault`` if the stage asks for wakes without end.
    private func checkFault() throws {
        guard var fault = clock?.fault else { return }
        fault.stage = plan.stage
        throw fault
    }

    /// At the end of all input, stops a stage that asks for wakes without end.
    func checkEnd(at time: Instant) throws {
        guard time == .distantFuture, let clock, clock.fruitlessWakes >= StageFault.wakesUntilFault,
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

    /// Begins a step for the event or wake that the stage just got, in two cases: the stage has not finished the event
    /// or wake, or the log already holds a part of its outputs.
    @inline(__always)
    func noteStep(_ kind: UnfinishedStep.Kind, of event: UInt64?, outputsBefore: Int) {
        guard !state.hasCaughtUp && state.resumption != nil || clock?.staysUnfinished() == true else { return }
        state.beginStep(kind, of: event, behind: outputsBefore, next: outlet.log.nextSequence)
    }

    /// Finishes the current step; false if the step must wait for room or for the loop's next turn.
    func finishStep() throws -> Bool {
        guard state.step != nil else { return true }
        dropRecorded()
        while clock?.isUnfinished == true {
            guard try appendPart() else { return false }
            clock?.proceed(into: &out)
            dropRecorded()
        }
        state.endStep()
        return true
    }

    private func dropRecorded() {
        let known = state.dropRecorded(of: out.count)
        if known > 0 { out.removeEvents(first: known) }
    }

    /// - Returns: False if the part could not be appended. Then the stage must wait.
    private func appendPart() throws -> Bool {
        guard out.count > 0, let step = state.step, let now = clock?.now else { return true }
        guard state.mayAppendPart else { return false }
        let cursor = Cursor(upstreamName, state.taken, unfinished: step.unfinished, past: outlet.log.cursor)
        guard try append(cursor, now: now) == .appended else { return false }
        state.notePart()
        return true
    }

    // MARK: Continuing after a restart

    /// Continues the unfinished step. A wake continues at once, because a wake needs no input. An event comes again
    /// from the upstream, and is finished under the settings under which it was begun.
    func resume() throws {
        guard state.resumption?.kind == .wake else {
            while let settings = periods?.next(beforeEvent: state.committed + 1) { try adopt(settings) }
            return
        }
        let time = outlet.log.lastNow
        while let settings = periods?.next(beforeWakeAt: time) { try adopt(settings) }
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
