import EventLog
import PipelineKit
import Synchronization

/// Follows a stage's log into the local files while another host owns it, until this host takes it over. Belongs to one
/// thread.
///
/// Readers get no answer from a host that stands by, except to `health`.
final class StandBy {
    private let plan: HostPlan
    private let hosts: HostsPlan
    private let control: HostControl
    private let context: HostContext
    /// When this host may take back a log that it wrote last.
    private var takesBackAt: ContinuousClock.Instant
    private var silence: Silence
    private var server: StartupHealthServer?
    private var hasTold = false
    private var hasWarned = false

    private static let pause = Duration.milliseconds(100)
    private static let trimInterval = Duration.seconds(60)
    /// How long other hosts have to take over a log that this host was asked to give up.
    private static let handOverMax = Duration.seconds(3)
    /// How long an owner may take to answer the question who owns the log.
    private static let answerMax = Duration.milliseconds(300)

    /// - Parameter hasHandedOver: Whether this host has just given the log up on request.
    init(_ plan: HostPlan, _ hosts: HostsPlan, _ control: HostControl, _ context: HostContext, hasHandedOver: Bool) {
        (self.plan, self.hosts, self.control, self.context) = (plan, hosts, control, context)
        let now = plan.time.monotonicNow()
        takesBackAt = hasHandedOver ? now + StandBy.handOverMax : now
        silence = Silence(hosts, now)
    }

    /// Returns when this host has taken the log over.
    ///
    /// - Returns: The position in the log's home of the message that says so; nil if the host was asked to stop.
    func wait() throws -> UInt64? {
        let wait = Wait()
        control.onStop { [plan] in if !wait.isOver.load(ordering: .acquiring) { plan.interruptHome() } }
        defer {
            wait.isOver.store(true, ordering: .releasing)
            server?.socket.close()
            publish(.starting)
        }
        while !control.isStopAsked {
            do {
                guard let home = try plan.openHome() else { return nil }
                if let position = try follow(in: home) { return position }
            } catch EventLogError.home(_, let reason) {
                try pause(.noQuorum, because: reason)
            } catch let error where HostReport.Shortage(error) != nil { try pause(.diskFull, because: "\(error)") }
        }
        return nil
    }

    private final class Wait: Sendable { let isOver = Atomic(false) }

    private func follow(in home: any LogHome) throws -> UInt64? {
        let beacons = try home.beacons(of: plan.logName)
        let follower = try HomeFollower(plan.logOptions(in: home))
        beacons.send(HostMessage.question.bytes)
        takesBackAt = max(takesBackAt, plan.time.monotonicNow() + StandBy.answerMax)
        var trimmed = plan.time.monotonicNow()
        while !control.isStopAsked {
            let position = follower.position
            try follower.follow()
            if plan.time.monotonicNow() - trimmed >= StandBy.trimInterval {
                try follower.trim()
                trimmed = plan.time.monotonicNow()
            }
            silence.note(
                beacons, end: follower.position, hasNews: follower.position > position, at: plan.time.monotonicNow())
            let now = plan.time.monotonicNow()
            let owner = silence.owner(at: now)
            warn(of: owner)
            let takesBack = follower.isOwn && now >= takesBackAt && owner == nil
            if takesBack || silence.isOver(at: now), try follower.takeOver() {
                if hasTold {
                    tell("this host runs the stage now: \(takesBack ? "no other host took it" : silence.reason)")
                }
                try follower.close()
                return follower.position
            }
            if now >= takesBackAt {
                if !hasTold { tell("standing by") }
                hasTold = true
                publish(.standingBy, last: follower.lastSequence)
            }
            try answerHealth()
        }
        return nil
    }

    /// Says once that another process has the name of this host.
    private func warn(of owner: String?) {
        guard owner == hosts.own.name, !hasWarned else { return }
        hasWarned = true
        tell(
            "another process runs the stage as host \(hosts.own.name): stop it, or start this one with the name of "
                + "another host")
    }

    private func pause(_ phase: HostReport.Phase, because reason: String) throws {
        guard !control.isStopAsked else { return }
        if control.report.phase != phase { tell("cannot stand by: \(reason); trying again") }
        publish(phase)
        silence = Silence(hosts, plan.time.monotonicNow())
        try answerHealth()
    }

    private func answerHealth() throws {
        if server == nil {
            let socket = try HostSockets(plan: plan, context: context).makeServer()
            server = StartupHealthServer(plan, control, socket)
        }
        try server?.answer(for: StandBy.pause)
    }

    private func tell(_ text: String) { StandardError.write("\(plan.stage): \(text)") }

    private func publish(_ phase: HostReport.Phase, last: UInt64? = nil) {
        var report = control.report
        report.phase = phase
        if let last { report.last = last }
        control.publish(report)
    }
}
