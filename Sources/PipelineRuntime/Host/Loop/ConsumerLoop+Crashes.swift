import EventLog
import PipelineKit

/// An event that the stage crashed on again and again is set aside, so that the pipeline goes on.
extension ConsumerLoop {
    /// In virtual time a crash is the end of all stages, and of their logs.
    func openJournal() {
        guard plan.clock == .wall, plan.isAlone else { return }
        let end = plan.endBefore
        journal = CrashJournal(
            logDirectory: plan.logDirectory, of: outlet.log.identity, boot: plan.time.boot(), end: end)
    }

    /// Says where nothing can be set aside: what an event led to is in the log, or a part of it.
    func complainOfCrashes(through last: UInt64) {
        guard let sequence = journal?.culprit else { return }
        let crashes = "crashed \(CrashJournal.crashesMax) times at event \(sequence) of \(upstreamName)"
        if sequence <= last {
            let remedy = "so the event cannot be set aside; start the build that made the log, or mend the stage"
            StandardError.write("\(plan.stage): \(crashes), of which its log has the outputs already, \(remedy)")
        } else if journal?.setAside == nil {
            let before = "\(CrashJournal.setAsideMax) events before it, one after the other"
            StandardError.write(
                "\(plan.stage): \(crashes), as at \(before), so nothing more is set aside; mend the stage")
        }
    }

    func isToBeSetAside(_ sequence: UInt64) -> Bool {
        sequence == journal?.setAside && state.mayAppend
    }

    /// Puts on record that the stage never gets the event: as a dead letter, and in the cursor of a batch of its own, from
    /// which whoever feeds the stage its past knows it.
    ///
    /// - Returns: False where something has to wait for room.
    func setAside(_ line: UnsafeRawBufferPointer, _ sequence: UInt64) throws -> Bool {
        state.take(through: sequence - 1)
        guard try commit(), let journal, let clock else { return false }
        out.reject(sequence: sequence, line: line, Rejection(code: SetAsideEvents.code, reason: journal.reason))
        var cursor = Cursor(
            upstreamName, sequence, unfinished: nil, firstOut: clock.stage.firstOut, past: outlet.log.cursor)
        cursor.setAside(sequence, of: upstreamName)
        guard try append(cursor, now: clock.now, always: true) == .appended else {
            out.removeRejections()
            return false
        }
        state.setAside(sequence)
        journal.noteSetAside()
        StandardError.write(
            "\(plan.stage): set event \(sequence) of \(upstreamName) aside: \(journal.reason) (belfry dead-letters)")
        return true
    }
}
