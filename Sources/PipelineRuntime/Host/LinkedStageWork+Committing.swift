import EventLog
import PipelineKit
import Time

/// What of the stage's outputs becomes a batch, and when.
extension LinkedStageWork {
    func endTurn() throws {
        try finishRebuild()
        guard rebuild == nil else { return try grant() }
        guard try commit() else { return }
        putAside()
        guard transports.isIdle, held == nil, plan.clock == .event, let promised else { return }
        outlet.server.promise(now: promised, mark: mark)
        passedMark = mark
    }

    /// - Parameter always: Append even when there are no events: a wake, or a cursor that is far behind.
    /// - Returns: False where the log has no room, or a step takes longer: what is to be appended stays, and nothing more
    ///   is taken in.
    @discardableResult
    func commit(always: Bool = false) throws -> Bool {
        guard rebuild == nil, resumption == nil, let now = clock?.now else {
            try grant()
            return true
        }
        mustRecord = mustRecord || always || taken - committed >= 65_536
        guard try finishStep(), try serveDeadlines(through: now) else { return false }
        // What is handed out is on record first: an answer is always in a later batch than its push.
        let handsOut = !out.deliveries.isEmpty
        mustRecord = mustRecord || handsOut
        let firstOut = clock?.stage.firstOut ?? (handsOut ? taken + 1 : nil)
        let cursor = Cursor(upstreamName, taken, unfinished: nil, firstOut: firstOut, past: outlet.log.cursor)
        switch try append(cursor, now: now, always: mustRecord) {
        case .noRoom: return false
        case .unneeded: break
        case .appended: (committed, mustRecord) = (taken, false)
        }
        handOut()
        if !hasCaughtUp { try goOnUnderTodaysSettings(after: taken) }
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
        taken = sequence
        return try commit() && mayFold
    }

    private func grant() throws {
        guard ungranted > 0 else { return }
        try inlet.grant(ungranted)
        ungranted = 0
    }
}
