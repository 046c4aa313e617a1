import EventLog
import PipelineKit
import Time

/// What of the stage's outputs becomes a batch, and when.
extension ConsumerLoop {
    func commitTurn() throws {
        try finishRebuild()
        guard state.pastEnd == nil else { return try grant() }
        guard try commit() else { return }
        putAside()
        guard transports.isIdle, state.held == nil, plan.clock == .event, let promised else { return }
        outlet.server.promise(now: promised, mark: mark)
        passedMark = mark
    }

    /// - Parameter always: Append even when there are no events: a wake, or a cursor that is far behind.
    /// - Returns: False where the log has no room, or a step takes longer: what is to be appended stays, and nothing more
    ///   is taken in.
    @discardableResult
    func commit(always: Bool = false) throws -> Bool {
        guard state.mayAppend, let now = clock?.now else {
            try grant()
            return true
        }
        if always || state.isRecordDue { state.requireRecord() }
        guard try finishStep(), try serveDeadlines(through: now) else { return false }
        // What is handed out is on record first: an answer is always in a later batch than its push.
        let handsOut = !out.deliveries.isEmpty
        if handsOut { state.requireRecord() }
        let firstOut = clock?.stage.firstOut ?? (handsOut ? state.taken + 1 : nil)
        let cursor = Cursor(upstreamName, state.taken, unfinished: nil, firstOut: firstOut, past: outlet.log.cursor)
        switch try append(cursor, now: now, always: state.mustRecord) {
        case .noRoom: return false
        case .unneeded: break
        case .appended: state.noteAppended()
        }
        handOut()
        if !state.hasCaughtUp { try goOnUnderTodaysSettings(after: state.taken) }
        try grant()
        return true
    }

    func append(_ cursor: Cursor, now: Instant, always: Bool = false) throws -> StageOutlet.Commit {
        try outlet.commit(&out, cursor: cursor, now: max(now, outlet.log.lastNow), always: always)
    }

    /// In the middle of a batch of the upstream's.
    ///
    /// - Returns: False where what follows has to wait for room: in the log, or at transports.
    func commitFullBatch(through sequence: UInt64) throws -> Bool {
        state.take(through: sequence)
        return try commit() && haveTransportsRoom
    }

    private func grant() throws {
        guard ungranted > 0 else { return }
        try inlet.grant(ungranted)
        ungranted = 0
    }
}
