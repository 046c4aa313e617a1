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
    private(set) var restarts = 0
    private unowned let world: World
    private var life: Life?
    private var startAt = Duration.zero
    private var boot: UInt64 = 1

    private struct Life {
        var host: StageHost
        var work: any HostWork
        var dispatcher: TransportDispatcher
        var sockets: HostEnds
    }

    init(_ stage: PipelineStage, in world: World) {
        self.stage = stage
        self.world = world
        process = SimulatedProcess(world.disk, world.time)
    }

    var isUp: Bool { life != nil }
    var report: HostReport? { life?.host.control.report }
    var log: EventLogWriter? { life?.work.outlet.log }
    var isIdle: Bool { life?.work.isIdle ?? false }

    /// Runs the host's loop once, or restarts a host that is down when it is due.
    func turn() {
        guard let life else { return startIfDue() }
        process.runQueues()
        world.transports.answer(process, life.dispatcher)
        do {
            let loop = HostLoop(plan: life.host.plan, control: life.host.control, endpoint: stage.bind)
            let hasInput = life.work.wantsInput && life.sockets.hasInput
            _ = try loop.turn(life.work, hasRequests: life.sockets.hasRequests, hasInput: hasInput)
        } catch {
            fail(error)
        }
        if process.isDead { dieInACall() }
    }

    private func startIfDue() {
        guard startAt <= world.time.elapsed else { return }
        process = SimulatedProcess(world.disk, world.time)
        restarts += 1
        do { life = try start() } catch { fail(error) }
        if process.isDead { dieInACall() }
    }

    private func start() throws -> Life {
        var surroundings = HostSurroundings(registry: world.registry, context: world.context)
        (surroundings.time, surroundings.calls) = (world.time.host, process.calls)
        surroundings.time.boot = { [boot] in boot }
        surroundings.partBytes = world.partBytes
        let host = try StageHost(stage, of: world.file, in: surroundings)
        let routes = stage.kind == "deliver" ? world.transports.routes(of: process) : [:]
        let dispatcher = TransportDispatcher(routes: routes, steady: world.time.host.steady)
        let sockets = HostEnds(host.plan, world)
        guard let work = try host.work(over: sockets, dispatcher) else {
            throw SimulationError("no stage \(stage.kind)")
        }
        let upstream = world.file.upstream(of: stage)?.logName ?? ""
        if UnfinishedStep(work.outlet.log.cursor, of: upstream) != nil { world.faults.note(.stepTorn) }
        return Life(host: host, work: work, dispatcher: dispatcher, sockets: sockets)
    }

    /// Ends the host after an error, which is a problem unless a fault was simulated.
    private func fail(_ error: any Error) {
        if !process.hasFailed { world.problems.append("\(stage.name) ended by itself: \(error)") }
        crash()
    }

    func crash() {
        process.die()
        world.transports.forget(process)
        life?.sockets.close()
        life = nil
        if world.disk.isFaulty { world.snapshots.disturb(stage.logName) }
        startAt = world.time.elapsed + .milliseconds(20 + world.random.below(800))
    }

    private func dieInACall() {
        world.transports.noteDeathInACall()
        crash()
    }

    /// Crashes the host together with its machine.
    func losePower() {
        crash()
        boot += 1
    }

    /// How the state from the logs differs from the stage's state. Nil if they are equal or cannot be compared.
    ///
    /// - Parameter seen: Called if the states could be compared.
    func differenceFromFold(_ seen: () -> Void) -> String? {
        do {
            guard let (live, folded) = try (life?.work as? any FoldableWork)?.states() else { return nil }
            seen()
            return live == folded ? nil : "a state of \(folded.count) bytes, but the stage has one of \(live.count)"
        } catch { return "\(error)" }
    }

    /// Stops the host as SIGTERM does, if the host is idle.
    func stop() {
        guard let life, life.work.isIdle else { return }
        life.host.control.stop()
        world.faults.note(.stopped)
        do { try life.work.finish() } catch { fail(error) }
        if process.isDead { dieInACall() } else { crash() }
    }
}

/// The sockets of a host from its start to its end.
final class HostEnds: HostConnections {
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
            socket, endpoint: plan.upstream ?? "", name: plan.stage, after: after, steady: plan.time.steady)
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
