import Glibc
import Synchronization

/// Starts a host as often as it takes, while the disk has no room for what a start writes: the log's folder and the
/// small files in it.
///
/// So a stage whose disk is full waits from the beginning just as it would later, and says so once. As soon as it has
/// run, its appends wait by themselves, and any other failure ends it.
final class PatientStart: Sendable {
    private let control: HostControl
    private let steady: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    private struct State {
        var room: DiskRoom
        var hasRun = false
    }

    init(_ plan: HostPlan, _ control: HostControl) {
        self.control = control
        steady = plan.time.steady
        state = Mutex(State(room: DiskRoom(stage: plan.stage)))
    }

    /// Returns when `attempt` has, or when the host was asked to stop before its disk had room.
    func run(_ attempt: () throws -> Void) throws {
        control.observe { [self] report in
            guard report.phase == .running else { return false }
            noteRun()
            return true
        }
        while true {
            do { return try attempt() } catch { try note(error) }
            if control.isStopAsked { return }
            usleep(UInt32(DiskRoom.pause / .microseconds(1)))
        }
    }

    private func noteRun() {
        state.withLock { state in
            state.hasRun = true
            state.room.noteRoom()
        }
    }

    private func note(_ error: any Error) throws {
        let shortage = try state.withLock { state in
            if state.hasRun { throw error }
            try state.room.note(error, at: steady())
            return state.room.shortage
        }
        var report = control.report
        (report.phase, report.shortage) = (.diskFull, shortage)
        control.publish(report)
    }
}
