import EventLog
import PipelineKit
import ZeroMQ

/// Runs one stage. The host handles sockets, log, time and shutdown; the stage only folds events.
///
/// The stage may run in a process of its own or share one with other stages. The difference has no effect on the stage.
package struct StageHost: Sendable {
    /// The host's plan, from the pipeline file.
    package private(set) var plan: HostPlan
    /// Stops the host and reports its state, from any thread.
    package let control: HostControl
    private let stage: PipelineStage
    private let checkLanes: LanesCheck?
    private var kind: String { stage.kind }
    private var settings: SettingsReader { stage.settings }
    private var surroundings: HostSurroundings { plan.surroundings }
    private var registry: Registry { surroundings.registry }
    private var context: HostContext { surroundings.context }

    /// - Throws: ``SettingsError`` if the stage's kind is unknown or does not fit its position in the pipeline, or if
    ///   its door's address is invalid, or if its CURVE keys cannot be read or are invalid. Another error if the
    ///   process has no file descriptors left.
    package init(_ stage: PipelineStage, of file: PipelineFile, in surroundings: HostSurroundings) throws {
        self.stage = surroundings.registry.sealed(stage)
        plan = try HostPlan(self.stage, of: file, in: surroundings)
        checkLanes = LanesCheck(stage, of: file)
        control = try HostControl()
    }

    /// Decodes the settings of the stage and of its transports. Opens no transport. Checks nothing for a stage that is
    /// a program.
    package func check() throws {
        guard plan.command.isEmpty else { return }
        try StageCheck(registry: registry).check(settings, kind: kind)
    }

    /// Returns when the host was stopped and the events in its log are durable.
    package func run() async throws {
        defer { control.end() }
        let transports = StageTransports()
        do { try await run(with: transports) } catch {
            await transports.close()
            throw error
        }
        await transports.close()
    }

    /// Runs with transports that may be open already, and that stay open after the run.
    func run(with transports: StageTransports) async throws {
        guard let hosts = plan.hosts else { return try await runOnce(with: transports) }
        var hasHandedOver = false
        while true {
            let end = try await SocketThread.run(name: plan.stage) { [hasHandedOver] in
                try StandBy(plan, hosts, control, context, hasHandedOver: hasHandedOver).wait()
            }
            guard let end else { return }
            var owner = self
            owner.plan.endInHome = end
            do {
                try await owner.runOnce(with: transports)
                hasHandedOver = control.takeHandOver()
                guard hasHandedOver else { return }
            } catch let error as EventLogError {
                guard case .replaced(let log, let reason) = error else { throw error }
                hasHandedOver = false
                if !control.isStopAsked {
                    StandardError.write("\(plan.stage): log '\(log)' was taken over: \(reason)")
                }
            }
            await transports.close()
        }
    }

    /// Runs on this machine, until the host was stopped or replaced.
    private func runOnce(with transports: StageTransports) async throws {
        try checkLanes?()
        if !plan.command.isEmpty { return try await runPlugin(plan.command) }
        guard let type = registry.stages[kind] else { return }
        try await run(type, transports)
    }

    private func run<S: Stage>(_ type: S.Type, _ transports: StageTransports) async throws {
        let settings = try settings.decode(S.Settings.self)
        let dispatcher = TransportDispatcher(
            try await transports.open(bindings(), of: self), sink: surroundings.sink,
            monotonicNow: plan.time.monotonicNow)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await dispatcher.work { control.wake.signal() } }
            defer {
                dispatcher.stop()
                group.cancelAll()
            }
            try await SocketThread.run(name: plan.stage) { try runLoop(S.self, settings, dispatcher) }
        }
    }

    /// The transports in the stage's settings; empty if a sink replaces them.
    func bindings() throws -> [TransportBinding] {
        surroundings.sink == nil ? try registry.transports(of: stage) : []
    }

    func checkAddresses(beside current: HostPlan) async throws {
        try await SocketThread.run(name: "addresses") {
            try HostSockets(plan: plan, context: context).checkAddresses(beside: current)
        }
    }

    func transport(_ binding: TransportBinding, _ shared: SharedResources) throws -> any Transport {
        try registry.transport(binding, of: plan, shared: shared, console: surroundings.console)
    }

    func change<T: Transport>(_ transport: T, to binding: TransportBinding) async throws -> TransportChange? {
        try await transport.change(to: binding.settings.decode(T.Settings.self))
    }

    private func runLoop<S: Stage>(
        _ type: S.Type, _ settings: S.Settings, _ dispatcher: TransportDispatcher
    ) throws {
        try DiskFullStartup(plan, control).run(HostSockets(plan: plan, context: context)) { sockets in
            let work = try makeWork(S.self, settings, dispatcher, sockets)
            let endpoint = work.outlet.server.socket.lastEndpoint
            try HostLoop(plan: plan, control: control, endpoint: endpoint).run(work)
        }
    }

    private func makeWork<S: Stage>(
        _ type: S.Type, _ settings: S.Settings, _ dispatcher: TransportDispatcher, _ connections: some HostConnections
    ) throws -> any HostWork {
        let outlet = try StageOutlet(plan, connections)
        if S.isSource {
            let door = try connections.bindDoor()
            return try SourceLoop<S>(plan, control, settings: settings, outlet: outlet, door: door)
        }
        let timeline = try SettingsTimeline<S>(plan, settings, outlet.log)
        let upstream = UpstreamRecord(plan).recorded()
        let context = upstream.map {
            StageContext(log: outlet.log.identity, upstream: $1, upstreamName: $0, registry: registry)
        }
        let search = context.flatMap { SnapshotSearch<S>(plan, $0, timeline, lastSequence: outlet.log.lastSequence) }
        let start = try search?.newest()
        let inlet = try connections.connect(after: start?.moment.position ?? 0)
        return ConsumerLoop<S>(
            plan, control, timeline: timeline, outlet: outlet, inlet: inlet, transports: dispatcher, start: start,
            snapshots: search)
    }

    /// The host's loop without its thread, for a simulation that calls each turn itself; nil if the registry does not
    /// have the stage's kind.
    func work(
        over connections: some HostConnections, _ dispatcher: TransportDispatcher
    ) throws -> (any HostWork)? {
        guard let type = registry.stages[kind] else { return nil }
        func make<S: Stage>(_ type: S.Type) throws -> any HostWork {
            try makeWork(type, settings.decode(S.Settings.self), dispatcher, connections)
        }
        return try make(type)
    }

    private func runPlugin(_ command: [String]) async throws {
        let process = PluginProcess(command, directory: plan.directory, name: plan.stage)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let endpoint = plan.pluginEndpoint
            group.addTask {
                do { try await process.keepRunning(endpoint: endpoint) } catch {
                    control.stop()
                    throw error
                }
            }
            defer { process.stop() }
            try await SocketThread.run(name: plan.stage) {
                try DiskFullStartup(plan, control).run(HostSockets(plan: plan, context: context)) {
                    try runPluginLoop(process, $0)
                }
            }
            process.stop()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private func runPluginLoop(_ process: PluginProcess, _ sockets: HostSockets) throws {
        let outlet = try StageOutlet(plan, sockets)
        let loop = HostLoop(plan: plan, control: control, endpoint: outlet.server.socket.lastEndpoint)
        let inlet = try sockets.connect(after: outlet.log.cursor.input?.position ?? 0)
        let work = PluginLoop(plan, control, outlet: outlet, inlet: inlet, plugin: try sockets.bindPlugin())
        work.callbacks = PluginCallbacks(
            onOpen: process.noteOpen, onSetAside: process.noteSetAside, isDown: { process.isDown })
        try loop.run(work)
    }
}
