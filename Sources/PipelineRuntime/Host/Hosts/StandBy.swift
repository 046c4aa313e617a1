import EventLog
import PipelineKit
import Synchronization

/// Follows a stage's log into the local files while another host owns it, until this host may take it over.
///
/// Readers get no answer from a host that stands by, except to `health`.
struct StandBy: Sendable {
    let plan: HostPlan
    let hosts: HostsPlan
    let control: HostControl
    let context: HostContext
    /// Whether this host has just handed the log over, so that another one should take it.
    let hasHandedOver: Bool

    private final class Wait: Sendable { let isOver = Atomic(false) }

    private static let pause = Duration.milliseconds(100)

    /// Returns when this host has taken the log over.
    ///
    /// - Returns: The position in the log's home of the message that says so; nil if the host was asked to stop.
    func wait() throws -> UInt64? {
        guard let home = try plan.openHome() else { return nil }
        let wait = Wait()
        defer { wait.isOver.store(true, ordering: .releasing) }
        control.onStop { if !wait.isOver.load(ordering: .acquiring) { home.interrupt() } }
        var server: StartupHealthServer?
        defer { server?.socket.close() }
        var silence = Silence(hosts, plan.time.monotonicNow())
        var hasTold = false
        while !control.isStopAsked {
            do {
                let beacons = try home.beacons(of: plan.logName)
                let follower = try HomeFollower(plan.logOptions(in: home))
                defer { control.publish(report(.standingBy, follower)) }
                while !control.isStopAsked {
                    let position = follower.position
                    try follower.follow()
                    silence.note(beacons, hasNews: follower.position > position, at: plan.time.monotonicNow())
                    let isDue = follower.isOwn && !hasHandedOver || silence.isOver(at: plan.time.monotonicNow())
                    if isDue, try follower.takeOver() {
                        if hasTold {
                            StandardError.write("\(plan.stage): this host runs the stage now: \(silence.reason)")
                        }
                        try follower.close()
                        return follower.position
                    }
                    control.publish(report(.standingBy, follower))
                    if !hasTold { StandardError.write("\(plan.stage): standing by") }
                    hasTold = true
                    if server == nil {
                        server = try StartupHealthServer(
                            plan, control, HostSockets(plan: plan, context: context).makeServer())
                    }
                    try server?.answer(for: StandBy.pause)
                }
            } catch EventLogError.home(_, let reason) {
                guard !control.isStopAsked else { return nil }
                if control.report.phase != .noQuorum {
                    StandardError.write("\(plan.stage): cannot stand by: \(reason); trying again")
                }
                control.publish(report(.noQuorum))
                silence = Silence(hosts, plan.time.monotonicNow())
                if server == nil {
                    server = try StartupHealthServer(
                        plan, control, HostSockets(plan: plan, context: context).makeServer())
                }
                try server?.answer(for: StandBy.pause)
            }
        }
        return nil
    }

    private func report(_ phase: HostReport.Phase, _ follower: HomeFollower? = nil) -> HostReport {
        var report = control.report
        report.phase = phase
        if let follower { report.last = follower.lastSequence }
        return report
    }
}

/// For how long nothing was heard of a log's owner.
private struct Silence {
    private let hosts: HostsPlan
    /// A random part keeps several hosts from trying at the same moment.
    private let limit: Duration
    private var heard: ContinuousClock.Instant
    private var losses: Int?
    private var owner: UInt64 = 0
    private var host: String?
    private var isGivenUp = false

    init(_ hosts: HostsPlan, _ now: ContinuousClock.Instant) {
        self.hosts = hosts
        limit = hosts.takeOver * Double.random(in: 1...1.3)
        heard = now
    }

    /// - Parameter hasNews: Whether the log has got messages.
    mutating func note(_ beacons: any HomeBeacons, hasNews: Bool, at now: ContinuousClock.Instant) {
        if hasNews || !beacons.isConnected || beacons.losses != losses { heard = now }
        losses = beacons.losses
        for message in beacons.receive(atMost: .zero) {
            guard let beacon = OwnerBeacon(message), hosts.knows(beacon.host), beacon.owner >= owner else { continue }
            (owner, host, heard, isGivenUp) = (beacon.owner, beacon.host, now, beacon.ends)
        }
    }

    /// Why the log may be taken over, once it may.
    var reason: String {
        let owner = host.map { "host \($0)" } ?? "every other host"
        return isGivenUp ? "\(owner) gave it up" : "\(owner) was silent for \(hosts.takeOver.settingsText)"
    }

    func isOver(at now: ContinuousClock.Instant) -> Bool { isGivenUp || now - heard > limit }
}
