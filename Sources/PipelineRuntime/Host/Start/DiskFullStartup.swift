import Synchronization
import ZeroMQ

/// Starts a host as often as it takes, while the disk has no room for what a start writes: the log's folder and the
/// small files in it.
///
/// So a stage whose disk is full waits from the beginning just as it would later: it says so once, and in health. As
/// soon as it has run, its appends wait by themselves, and any other failure ends it.
final class DiskFullStartup: Sendable {
    private let plan: HostPlan
    private let control: HostControl
    private let state: Mutex<State>

    private struct State {
        var room: DiskRoom
        var hasRun = false
    }

    init(_ plan: HostPlan, _ control: HostControl) {
        self.plan = plan
        self.control = control
        state = Mutex(State(room: DiskRoom(stage: plan.stage)))
    }

    /// Returns when `attempt` has, or when the host was asked to stop before its disk had room.
    func run(_ sockets: HostSockets, _ attempt: (HostSockets) throws -> Void) throws {
        control.observe { [self] report in
            guard report.phase == .running else { return false }
            noteRun()
            return true
        }
        var desk: HealthDesk?
        while true {
            do { return try attempt(desk.map { sockets.serving($0.socket) } ?? sockets) } catch { try note(error) }
            if control.isStopAsked { return }
            if desk == nil { desk = try makeDesk(sockets) }
            try desk?.answer(for: DiskRoom.pause)
        }
    }

    private func makeDesk(_ sockets: HostSockets) throws -> HealthDesk? {
        do { return try HealthDesk(plan, control, sockets.makeServer()) } catch {
            try note(error)
            return nil
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
            try state.room.note(error, at: plan.time.steady())
            return state.room.shortage
        }
        var report = control.report
        (report.phase, report.shortage) = (.diskFull, shortage)
        control.publish(report)
    }
}
