import EventLog
import PipelineKit

/// Sets aside an event on which the stage crashed repeatedly, so that the pipeline continues without it.
extension ConsumerLoop {
    /// Opens the crash journal of a stage that runs in real time and in a process of its own. In virtual time, a crash
    /// ends all stages, and nobody starts them again over the same logs.
    func openCrashJournal() {
        guard plan.clock == .wall, plan.surroundings.hasOwnProcess else { return }
        crashJournal = CrashJournal(
            logDirectory: plan.logDirectory, of: outlet.log.identity, boot: plan.time.boot(),
            end: plan.surroundings.previousEnd)
    }

    /// Reports an event that cannot be set aside: some of its outputs are in the log already, or too many events in a
    /// row were set aside.
    func reportCrashes(through last: UInt64) {
        guard let sequence = crashJournal?.crashingEvent else { return }
        let crashes = "crashed at least \(CrashJournal.crashesMax) times on event \(sequence) of \(upstreamName)"
        if sequence <= last {
            let remedy = "so the event cannot be set aside; start the build that wrote the log, or fix the stage"
            let cause = "some outputs of this event are in the log already"
            StandardError.write("\(plan.stage): \(crashes), and \(cause), \(remedy)")
        } else if crashJournal?.eventToSetAside == nil {
            let before = "\(CrashJournal.setAsideMax) events in a row before it"
            StandardError.write(
                "\(plan.stage): \(crashes), as on \(before), so no more events are set aside; fix the stage")
        }
    }

    func isToBeSetAside(_ sequence: UInt64) -> Bool {
        sequence == crashJournal?.eventToSetAside && state.mayAppend
    }

    /// Writes a dead letter for the event. Also appends a batch without events, whose cursor records that the stage
    /// never gets the event.
    ///
    /// - Returns: False if the event must wait, because the log has no room or an earlier step is unfinished.
    func setAside(_ line: UnsafeRawBufferPointer, _ sequence: UInt64) throws -> Bool {
        state.noteTaken(through: sequence - 1)
        guard try commit(), let crashJournal, let clock else { return false }
        out.reject(sequence: sequence, line: line, Rejection(code: SetAsideEvents.code, reason: crashJournal.reason))
        var cursor = Cursor(
            upstreamName, sequence, unfinished: nil, firstUnanswered: clock.stage.firstUnanswered,
            past: outlet.log.cursor)
        cursor.setAside(sequence, of: upstreamName)
        guard try append(cursor, now: clock.now, evenIfEmpty: true) == .appended else {
            out.removeRejections()
            return false
        }
        state.setAside(sequence)
        crashJournal.noteSetAside()
        StandardError.write(
            "\(plan.stage): set event \(sequence) of \(upstreamName) aside: \(crashJournal.reason); "
                + "see belfry dead-letters")
        return true
    }
}
