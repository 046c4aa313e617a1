import EventLog
import PipelineKit
import Time

/// Appends the stage's outputs to the log, one batch at a time.
extension ConsumerLoop {
    func commitTurn() throws {
        try finishRebuild()
        guard state.pastEnd == nil else { return try grant() }
        guard try commit() else { return }
        takeSnapshotIfDue()
        guard transports.isIdle, state.held == nil, plan.clock == .event, let promised else { return }
        outlet.server.promise(now: promised, mark: mark)
        passedMark = mark
    }

    /// - Parameter evenIfEmpty: Whether to append a batch even without events, to record a wake or a cursor.
    /// - Returns: False if the log has no room or a step is unfinished. Then the outputs stay in the outbox, and the
    ///   loop takes no more input. While the stage gets its recorded input again, nothing is appended, and the result
    ///   is true.
    @discardableResult
    func commit(evenIfEmpty: Bool = false) throws -> Bool {
        guard state.mayAppend, let now = clock?.now else {
            try grant()
            return true
        }
        if evenIfEmpty || state.isRecordDue { state.requireRecord() }
        guard try finishStep(), try wakeStage(through: now) else { return false }
        // This batch records that the pushes in the outbox are handed out. It is appended before a transport gets them,
        // so their answers are always in a later batch.
        let handsOut = !out.deliveries.isEmpty
        if handsOut { state.requireRecord() }
        let firstUnanswered = clock?.stage.firstUnanswered ?? (handsOut ? state.taken + 1 : nil)
        let cursor = Cursor(
            upstreamName, state.taken, unfinished: nil, firstUnanswered: firstUnanswered, past: outlet.log.cursor)
        switch try append(cursor, now: now, evenIfEmpty: state.mustRecord) {
        case .noRoom: return false
        case .unneeded: break
        case .appended: state.noteAppended()
        }
        queuePushes()
        if !state.hasCaughtUp { try switchToCurrentSettings(after: state.taken) }
        try grant()
        return true
    }

    func append(_ cursor: Cursor, now: Instant, evenIfEmpty: Bool = false) throws -> StageOutlet.Commit {
        try outlet.commit(&out, cursor: cursor, now: max(now, outlet.log.lastNow), evenIfEmpty: evenIfEmpty)
    }

    /// Commits the outputs so far in the middle of an upstream batch.
    ///
    /// - Returns: False if the following events must wait, for room in the log, for the end of a step or for the
    ///   transports.
    func commitFullBatch(through sequence: UInt64) throws -> Bool {
        state.noteTaken(through: sequence)
        return try commit() && haveTransportsRoom
    }

    private func grant() throws {
        guard ungranted > 0 else { return }
        try inlet.grant(ungranted)
        ungranted = 0
    }
}
