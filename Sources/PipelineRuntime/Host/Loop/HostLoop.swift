import PipelineKit
import Time
import ZeroMQ

/// What one kind of host does in each turn of its loop.
protocol HostWork: AnyObject {
    /// What is being done, and how far it has come.
    var state: HostState { get set }
    /// What the world is like now.
    var conditions: HostState.Conditions { get }
    var outlet: StageOutlet { get }
    /// Where input comes from.
    var sockets: [any MessageSocket] { get }

    /// Whether input would be taken now; while it would not, it is not woken for.
    var wantsInput: Bool { get }

    /// - Parameter hasInput: Whether one of ``sockets`` has something to read.
    func beginTurn(hasInput: Bool)

    /// Does one thing that ``HostState/next(_:)`` asks for.
    func perform(_ action: HostState.Action) throws

    func endTurn() throws

    /// When to be woken at the latest.
    var timeout: Duration { get }

    /// Whether nothing is under way in the world, so that the host may stop.
    var isIdle: Bool { get }

    /// What of its logs the stage needs to start again.
    var need: RetentionFloor { get }

    /// Called when events of its own log before `first` were removed.
    func trimmed(to first: UInt64)

    func fill(_ report: inout HostReport)

    /// Makes everything durable; after that the thread ends.
    func finish() throws
}

extension HostWork {
    var wantsInput: Bool { state.wantsInput(conditions) }

    func endTurn() throws {}

    /// Takes what waits, within a budget, and commits.
    ///
    /// - Parameter hasInput: Whether one of ``sockets`` has something to read.
    /// - Returns: Whether more can be done at once.
    func turn(hasInput: Bool) throws -> Bool {
        beginTurn(hasInput: hasInput)
        while let action = state.next(conditions) { try perform(action) }
        try endTurn()
        return state.hasMore(conditions)
    }
}

/// What a host waits for. Sockets that have nothing are left alone: asking each costs system calls.
final class HostWatch {
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

    var hasRequests: Bool { poller.ready(at: server).contains(.readable) }
    var hasInput: Bool { inputs.contains { poller.ready(at: $0).contains(.readable) } }
}

/// The loop of a host: one thread, which alone owns the sockets, the stage and the log.
struct HostLoop {
    let plan: HostPlan
    let control: HostControl
    let endpoint: String

    /// How long a host that was asked to stop waits for transports that are at work.
    static let grace = Duration.seconds(10)

    func run(_ work: some HostWork) throws {
        let watch = HostWatch(wake: control.wake, server: work.outlet.server.socket, inputs: work.sockets)
        work.outlet.log.onDurable { [control] _ in control.wake.signal() }
        work.outlet.onRemovable { [control] in control.wake.signal() }
        work.outlet.server.health = { [plan, control] forgetsPauses in
            let outlet = work.outlet
            defer { if forgetsPauses { outlet.pauses.forget() } }
            return HostHealth(
                plan: plan, report: control.report, log: outlet.log, consumers: outlet.server.consumerStates,
                pauses: outlet.pauses.pauses
            ).frame
        }
        defer { work.outlet.server.health = { _ in [] } }
        try turns(work, watch)
        try work.finish()
        report(work, phase: .stopped)
    }

    private func turns(_ work: some HostWork, _ watch: HostWatch) throws {
        var isBusy = true
        var stopBy: ContinuousClock.Instant?
        while true {
            if control.isStopAsked {
                let limit = stopBy ?? .now + HostLoop.grace
                if work.isIdle || .now >= limit { return }
                stopBy = limit
            }
            try watch.wait(isBusy ? .zero : work.timeout, forInput: work.wantsInput)
            control.wake.clear()
            isBusy = try turn(work, hasRequests: watch.hasRequests, hasInput: watch.hasInput)
        }
    }

    /// - Returns: Whether more can be done at once.
    func turn(_ work: some HostWork, hasRequests: Bool, hasInput: Bool) throws -> Bool {
        let outlet = work.outlet
        outlet.pauses.begin()
        if hasRequests { try outlet.server.receive() }
        outlet.pauses.lap(.consumers)
        var isBusy = try work.turn(hasInput: hasInput)
        outlet.pauses.lap(.input)
        try outlet.revealDurable()
        if try outlet.server.serve() { isBusy = true }
        outlet.pauses.lap(.consumers)
        if let first = outlet.retain(work.need) { work.trimmed(to: first) }
        outlet.pauses.lap(.retention)
        outlet.server.expire(at: plan.time.steady())
        report(work, phase: nil)
        outlet.pauses.end()
        return isBusy
    }

    private func report(_ work: some HostWork, phase: HostReport.Phase?) {
        var report = control.report
        work.fill(&report)
        if work.outlet.isShort { report.phase = .diskFull }
        report.shortage = work.outlet.room.shortage
        if plan.clock == .wall { _ = work.outlet.now() }
        report.clockBehind = work.outlet.clockBehind
        if let phase { report.phase = phase }
        report.first = work.outlet.server.first
        report.last = work.outlet.log.lastSequence
        report.eventsOut = work.outlet.eventsOut
        report.deadLetters = work.outlet.deadLetterCount
        report.endpoint = endpoint
        control.publish(report)
    }
}
