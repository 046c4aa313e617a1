import EventLog
import PipelineKit

/// What of the stage's outputs becomes a batch, and when.
extension LinkedStageWork {
    func endTurn() throws {
        try finishRebuild()
        guard rebuild == nil else {
            forgetOutputs()
            return try grant()
        }
        guard try commit() else { return }
        try putAside()
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
        guard try finishStep(), try serveWhatIsDue(at: now) else { return false }
        let deliveries = out.takeDeliveries()
        guard deliveries.isEmpty, transports.isIdle else {
            try handOut(deliveries)
            return true
        }
        let cursor = Cursor(upstreamName, taken, unfinished: nil, past: outlet.log.cursor)
        switch try append(cursor, now: now, always: mustRecord) {
        case .noRoom: return false
        case .unneeded: break
        case .appended: (committed, mustRecord) = (taken, false)
        }
        if !hasCaughtUp { try goOnUnderTodaysSettings(after: taken) }
        try grant()
        return true
    }

    /// The one way to the log: before it goes on, what transports still have is on record too.
    func append(_ cursor: Cursor, now: Instant, always: Bool = false) throws -> StageOutlet.Commit {
        guard try noteUnderWay() else { return .noRoom }
        return try outlet.commit(&out, cursor: cursor, now: max(now, outlet.log.lastNow), always: always)
    }

    /// No batch leaves a deadline unserved that lies at its own time: whoever feeds the stage its past again could not
    /// tell whether the log has what came of it.
    private func serveWhatIsDue(at now: Instant) throws -> Bool {
        try !transports.isIdle || serveDeadlines(through: now)
    }

    /// In the middle of a batch of the upstream's.
    ///
    /// - Returns: False where what follows has to wait: for room, or until a window is answered.
    func commitFullBatch(through sequence: UInt64) throws -> Bool {
        guard rebuild == nil else {
            forgetOutputs()
            return true
        }
        taken = sequence
        return try commit() && transports.isIdle
    }

    private func grant() throws {
        guard ungranted > 0 else { return }
        try inlet.grant(ungranted)
        ungranted = 0
    }
}
