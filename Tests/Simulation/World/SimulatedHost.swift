import BuiltIns
import EventLog
import PipelineKit
import TestSupport
import ZeroMQ

@testable import PipelineRuntime

/// The host of one stage: the real code with simulated sockets, disk, clock and transports.
final class SimulatedHost {
    let stage: PipelineStage
    private(set) var process: SimulatedProcess
    private unowned let world: World
    private var running: RunningHost?
    private var startAt = Duration.zero
    private var boot: UInt64 = 1

    /// What exists only while the host is up.
    private struct RunningHost {
        var host: StageHost
        var work: any HostWork
        var dispatcher: TransportDispatcher
        var sockets: SimulatedHostSockets
    }

    init(_ stage: PipelineStage, in world: World) {
        self.stage = stage
        self.world = world
        process = SimulatedProcess(world.disk, world.time)
    }

    var isUp: Bool { running != nil }
    var report: HostReport? { running?.host.control.report }
    var log: EventLogWriter? { running?.work.outlet.log }
    var isIdle: Bool { running?.work.isIdle ?? false }

    /// Runs one turn of the host's loop. If the host is down, starts it instead, provided that its start is due.
    func runOnce() {
        guard let running else { return startIfDue() }
        process.runQueues()
        world.transports.giveAnswers(of: process, to: running.dispatcher)
        do {
            let loop = HostLoop(plan: running.host.plan, control: running.host.control, endpoint: stage.bind)
            let hasInput = running.work.wantsInput && running.sockets.hasInput
            _ = try loop.runTurn(running.work, hasRequests: running.sockets.hasRequests, hasInput: hasInput)
        } catch {
            fail(error)
        }
        if process.isDead { endAfterDeathInACall() }
    }

    private func startIfDue() {
        guard startAt <= world.time.elapsed else { return }
        process = SimulatedProcess(world.disk, world.time)
        do { running = try start() } catch { fail(error) }
        if process.isDead { endAfterDeathInACall() }
    }

    private func start() throws -> RunningHost {
        var surroundings = HostSurroundings(registry: world.registry, context: world.context)
        (surroundings.time, surroundings.calls) = (world.time.hostTime, process.calls)
        surroundings.time.boot = { [boot] in boot }
        surroundings.partBytes = world.partBytes
        let host = try StageHost(stage, of: world.file, in: surroundings)
        let routes = stage.kind == "deliver" ? world.transports.routes(of: process) : [:]
        let dispatcher = TransportDispatcher(routes: routes, monotonicNow: world.time.hostTime.monotonicNow)
        let sockets = SimulatedHostSockets(host.plan, world)
        guard let work = try host.work(over: sockets, dispatcher) else {
            throw SimulationError("no stage \(stage.kind)")
        }
        let upstream = world.file.upstream(of: stage)?.logName ?? ""
        if UnfinishedStep(work.outlet.log.cursor, of: upstream) != nil { world.faults.note(.outputsCut) }
        return RunningHost(host: host, work: work, dispatcher: dispatcher, sockets: sockets)
    }

    /// Ends the host after an error. The error is a problem unless a simulated fault hit the process.
    private func fail(_ error: any Error) {
        if !process.hasFailed { world.problems.append("\(stage.name) ended by itself: \(error)") }
        crash()
    }

    /// Ends the host as SIGKILL does. It starts again after a random time.
    func crash() {
        process.die()
        world.transports.forget(process)
        running?.sockets.close()
        running = nil
        if world.disk.isFaulty { world.snapshots.disturbSnapshot(of: stage.logName) }
        startAt = world.time.elapsed + .milliseconds(20 + world.random.below(800))
    }

    private func endAfterDeathInACall() {
        world.transports.noteDeathInACall()
        crash()
    }

    /// Crashes the host together with its machine.
    func losePower() {
        crash()
        boot += 1
    }

    /// How the state from the logs differs from the stage's state, or the error if no state can be made from the logs.
    /// Nil if the states are equal, or if they cannot be compared now.
    ///
    /// - Parameter onComparison: Called if the states could be compared.
    func differenceFromFold(_ onComparison: () -> Void) -> String? {
        do {
            guard let (live, folded) = try (running?.work as? any FoldableWork)?.states() else { return nil }
            onComparison()
            return live == folded
                ? nil : "the state from the logs (\(folded.count) bytes) differs from the stage's (\(live.count) bytes)"
        } catch { return "no state can be made from the logs: \(error)" }
    }

    /// Stops the host as SIGTERM does, if the host is idle.
    func stop() {
        guard let running, running.work.isIdle else { return }
        running.host.control.stop()
        world.faults.note(.stopped)
        do { try running.work.finish() } catch { fail(error) }
        if process.isDead { endAfterDeathInACall() } else { crash() }
    }
}

/// The sockets of a host from its start to its end.
final class SimulatedHostSockets: HostConnections {
    private let plan: HostPlan
    private unowned let world: World
    private var server: SimulatedRouter?
    private var door: SimulatedRouter?
    private var inlet: SimulatedDealer?

    init(_ plan: HostPlan, _ world: World) {
        self.plan = plan
        self.world = world
    }

    var hasRequests: Bool { server?.hasInput ?? false }
    var hasInput: Bool { door?.hasInput ?? inlet?.hasInput ?? false }

    func bindServer() throws -> any MessageSocket {
        let socket = world.network.bind(plan.bind)
        server = socket
        return socket
    }

    func bindDoor() throws -> any MessageSocket {
        let socket = world.network.bind(plan.door ?? "")
        door = socket
        return socket
    }

    func connect(after: UInt64) throws -> any StageInlet {
        let socket = world.network.dealer()
        inlet = socket
        let link = try LinkClient(
            socket, endpoint: plan.upstream ?? "", name: plan.stage, after: after, lane: plan.linkLane,
            monotonicNow: plan.time.monotonicNow)
        return world.canary?.inlet(link, of: plan.stage) ?? link
    }

    func close() {
        server?.close()
        door?.close()
        inlet?.close()
    }
}

struct SimulationError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
