import Dispatch
import EventLog
import PipelineKit
import Synchronization
import Time
import ZeroMQ

/// The work of a host's loop. Its kinds are `ConsumerLoop`, `SourceLoop` and `PluginLoop`.
protocol HostWork: AnyObject {
    var state: HostState { get set }
    var conditions: HostState.Conditions { get }
    var outlet: StageOutlet { get }
    var sockets: [any MessageSocket] { get }

    /// Whether the work takes input now. If not, the loop does not wait for input.
    var wantsInput: Bool { get }

    /// - Parameter hasInput: Whether one of ``sockets`` is readable.
    func beginTurn(hasInput: Bool)

    func perform(_ action: HostState.Action) throws

    func endTurn() throws

    /// How long the loop may wait for input or a request before the next turn.
    var timeout: Duration { get }

    /// Whether a stopping host may end now.
    var isIdle: Bool { get }

    /// The oldest events that the stage needs to start again.
    var retentionFloor: RetentionFloor { get }

    /// Called when the events before `first` are about to be removed from the stage's own log.
    func willRemoveEvents(before first: UInt64)

    func fill(_ report: inout HostReport)

    /// Called after the last turn. Flushes and closes the log. The host's thread ends after this call.
    func finish() throws
}

extension HostWork {
    var wantsInput: Bool { state.wantsInput(conditions) }

    func endTurn() throws {}

    /// Runs one turn: performs the actions that ``HostState/next(_:)`` returns. Returns whether more can be done at
    /// once.
    func runTurn(hasInput: Bool) throws -> Bool {
        beginTurn(hasInput: hasInput)
        while let action = state.next(conditions) { try perform(action) }
        try endTurn()
        return state.hasMore(conditions)
    }
}

/// The poller of a host's loop. The loop reads its inputs only if one of them is readable, because any other read would
/// be a needless system call.
final class HostPoller {
    private let poller = ZMQPoller()
    private let server: Int
    private let inputs: [Int]

    init(wake: WakeSignal, server: any MessageSocket, inputs: [any MessageSocket]) {
        poller.add(wake)
        self.server = poller.add(server)
        self.inputs = inputs.map { [poller] in poller.add($0) }
    }

    func wait(_ timeout: Duration, forInput wantsInput: Bool) throws {
        for index in inputs { poller.setInterest(wantsInput ? .readable : [], at: index) }
        let milliseconds = (timeout / .milliseconds(1)).rounded(.up)
        _ = try poller.poll(timeoutMilliseconds: Int(max(0, min(1_000, milliseconds))))
    }

    var hasRequests: Bool { poller.readiness(at: server).contains(.readable) }
    var hasInput: Bool { inputs.contains { poller.readiness(at: $0).contains(.readable) } }
}

/// The loop of a host: one thread, which owns the sockets, the stage and the log.
struct HostLoop {
    let plan: HostPlan
    let control: HostControl
    let endpoint: String

    /// How long a stopping host waits for its transports, for its plugin's program, or for the home of its logs.
    static let grace = Duration.seconds(10)

    func run(_ work: some HostWork) throws {
        let poller = HostPoller(wake: control.wake, server: work.outlet.server.socket, inputs: work.sockets)
        work.outlet.onDurable { [control] in control.wake.signal() }
        work.outlet.retention.onReady { [control] in control.wake.signal() }
        work.outlet.server.health = { [plan, control] forgetsPauses in
            let outlet = work.outlet
            defer { if forgetsPauses { outlet.pauses.forget() } }
            return HostHealth(
                plan: plan, report: control.report, log: outlet.log, consumers: outlet.server.consumerStates,
                pauses: outlet.pauses.pauses
            ).frame
        }
        let grace = HomeGrace()
        defer {
            work.outlet.server.health = { _ in [] }
            grace.isOver.store(true, ordering: .releasing)
        }
        try runTurns(work, poller, grace)
        try work.finish()
        if !control.continuesHere { work.outlet.lease?.giveUp() }
        report(work, phase: .stopped)
    }

    private func runTurns(_ work: some HostWork, _ poller: HostPoller, _ homeGrace: HomeGrace) throws {
        var isBusy = true
        var stopBy: ContinuousClock.Instant?
        while true {
            if control.isStopAsked {
                if stopBy == nil { endWaitsForHome(of: work.outlet, homeGrace) }
                let deadline = stopBy ?? .now + HostLoop.grace
                if work.isIdle || .now >= deadline { return }
                stopBy = deadline
            }
            try poller.wait(isBusy ? .zero : work.timeout, forInput: work.wantsInput)
            control.wake.clear()
            isBusy = try runTurn(work, hasRequests: poller.hasRequests, hasInput: poller.hasInput)
        }
    }

    /// A stopping host does not wait longer than ``grace`` for the home of its logs.
    private func endWaitsForHome(of outlet: StageOutlet, _ grace: HomeGrace) {
        guard plan.home != nil else { return }
        let interrupting = outlet.interruptingHome
        DispatchQueue.global().schedule(after: HostLoop.grace) {
            if !grace.isOver.load(ordering: .acquiring) { interrupting() }
        }
    }

    /// A host that has ended within ``grace`` may stand by, and then it uses the home again.
    private final class HomeGrace: Sendable { let isOver = Atomic(false) }

    /// - Returns: Whether there is more to do at once.
    func runTurn(_ work: some HostWork, hasRequests: Bool, hasInput: Bool) throws -> Bool {
        let outlet = work.outlet
        outlet.pauses.begin()
        if hasRequests { try outlet.server.receive() }
        outlet.pauses.lap(.consumers)
        var isBusy = try work.runTurn(hasInput: hasInput)
        outlet.pauses.lap(.input)
        try outlet.revealDurable()
        if outlet.lease?.isDrained == true { control.handOver() }
        if try outlet.server.sendToConsumers() { isBusy = true }
        outlet.pauses.lap(.consumers)
        if let first = outlet.retain(work.retentionFloor) { work.willRemoveEvents(before: first) }
        outlet.pauses.lap(.retention)
        outlet.server.forgetSilentConsumers(at: plan.time.monotonicNow())
        report(work, phase: nil)
        outlet.pauses.end()
        return isBusy
    }

    private func report(_ work: some HostWork, phase: HostReport.Phase?) {
        var report = control.report
        work.fill(&report)
        switch work.outlet.homeDelay {
        case .diskFull: report.phase = .diskFull
        case .noQuorum: report.phase = .noQuorum
        case nil: if work.outlet.isDiskFull { report.phase = .diskFull }
        }
        report.shortage = work.outlet.room.shortage
        if plan.clock == .wall { _ = work.outlet.now() }
        report.clockBehind = work.outlet.clockBehind
        if let phase { report.phase = phase }
        report.first = work.outlet.server.first
        report.last = work.outlet.log.lastSequence
        report.eventsOut = work.outlet.eventsOut
        report.deadLetters = work.outlet.deadLetters.count
        report.endpoint = endpoint
        control.publish(report)
    }
}
