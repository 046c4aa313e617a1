import Synchronization
import ZeroMQ

/// Tries to start a host until the disk has room for the log's folder and the small files in it.
///
/// So on a full disk a stage waits at its start just as it does later: it reports the full disk once on standard error,
/// and in `health`. Once the host runs, its appends wait for room themselves. An error that still reaches this object
/// then ends the host, even if it is a lack of room.
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

    /// Returns when `attempt` has returned, or when the host was asked to stop before the disk had room.
    func run(_ sockets: HostSockets, _ attempt: (HostSockets) throws -> Void) throws {
        control.observe { [self] report in
            guard report.phase == .running else { return false }
            noteRun()
            return true
        }
        var server: StartupHealthServer?
        while true {
            do {
                return try attempt(HostSockets(plan: plan, context: sockets.context, server: server?.socket))
            } catch { try note(error) }
            if control.isStopAsked { return }
            if server == nil { server = try makeServer(sockets) }
            try server?.answer(for: DiskRoom.pause)
        }
    }

    private func makeServer(_ sockets: HostSockets) throws -> StartupHealthServer? {
        do { return try StartupHealthServer(plan, control, sockets.makeServer()) } catch {
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
            try state.room.note(error, at: plan.time.monotonicNow())
            return state.room.shortage
        }
        var report = control.report
        (report.phase, report.shortage) = (.diskFull, shortage)
        control.publish(report)
    }
}
