import PipelineKit
import ZeroMQ

/// Runs one stage: sockets, log, time and shutdown are the host's, the fold is the stage's.
///
/// The same host runs a stage as a process of its own or beside others in one process; the stage cannot tell which.
package struct StageHost: Sendable {
    /// The stage's settings from the pipeline file, with absolute paths.
    package let plan: HostPlan
    /// Stops the host and reads its reports, from any thread.
    package let control: HostControl
    private let stage: PipelineStage
    private let surroundings: HostSurroundings
    private var kind: String { stage.kind }
    private var settings: SettingsReader { stage.settings }
    private var registry: Registry { surroundings.registry }
    private var context: HostContext { surroundings.context }

    /// - Throws: ``SettingsError`` when the pipeline file names a stage that is not registered.
    package init(_ stage: PipelineStage, of file: PipelineFile, in surroundings: HostSurroundings) throws {
        let stage = surroundings.registry.sealed(stage)
        var plan = try HostPlan(
            stage, of: file, clock: surroundings.clock, registry: surroundings.registry,
            toolKeys: surroundings.toolKeys)
        (plan.time, plan.calls) = (surroundings.time, surroundings.calls)
        plan.partBytes = surroundings.partBytes
        (plan.isAlone, plan.endBefore) = (surroundings.isAlone, surroundings.endBefore)
        self.plan = plan
        control = try HostControl()
        self.stage = stage
        self.surroundings = surroundings
    }

    /// Decodes the stage's settings and those of its transports, and touches nothing outside.
    package func check() throws {
        guard plan.command.isEmpty else { return }
        try StageCheck(registry: registry).check(settings, kind: kind)
    }

    /// Returns when the host was stopped through its control and all it took in is durable.
    package func run() async throws {
        defer { control.end() }
        let transports = StageTransports()
        do { try await run(with: transports) } catch {
            await transports.close()
            throw error
        }
        await transports.close()
    }

    /// The same with transports that may be open already, and stay open.
    func run(with transports: StageTransports) async throws {
        if !plan.command.isEmpty { return try await runPlugin(plan.command) }
        guard let type = registry.stages[kind] else { return }
        try await run(type, transports)
    }

    private func run<S: Stage>(_ type: S.Type, _ transports: StageTransports) async throws {
        let settings = try settings.decode(S.Settings.self)
        let crew = TransportDispatcher(
            try await transports.open(bindings(), of: self), sink: surroundings.sink, steady: plan.time.steady)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await crew.work { control.wake.signal() } }
            defer {
                crew.stop()
                group.cancelAll()
            }
            try await SocketThread.run(name: plan.stage) { try runLoop(S.self, settings, crew) }
        }
    }

    /// The transports that the stage's settings set up; none where a sink takes their place.
    func bindings() throws -> [TransportBinding] {
        surroundings.sink == nil ? try registry.transports(of: stage) : []
    }

    func checkAddresses(beside present: HostPlan) async throws {
        try await SocketThread.run(name: "addresses") {
            try HostSockets(plan, context).checkAddresses(beside: present)
        }
    }

    func transport(_ binding: TransportBinding, _ commons: SharedResources) throws -> any Transport {
        try registry.transport(binding, of: plan, commons: commons, console: surroundings.console)
    }

    /// See ``Transport/change(to:)``.
    func change(_ transport: some Transport, to binding: TransportBinding) async throws -> TransportChange? {
        try await transport.change(to: settings(of: transport, binding))
    }

    private func settings<T: Transport>(of transport: T, _ binding: TransportBinding) throws -> T.Settings {
        try binding.settings.decode(T.Settings.self)
    }

    private func runLoop<S: Stage>(_ type: S.Type, _ settings: S.Settings, _ crew: TransportDispatcher) throws {
        try DiskFullStartup(plan, control).run(HostSockets(plan, context)) { sockets in
            let work = try makeWork(S.self, settings, crew, sockets)
            let endpoint = work.outlet.server.socket.lastEndpoint
            try HostLoop(plan: plan, control: control, endpoint: endpoint).run(work)
        }
    }

    private func makeWork<S: Stage>(
        _ type: S.Type, _ settings: S.Settings, _ crew: TransportDispatcher, _ connections: some HostConnections
    ) throws -> any HostWork {
        let outlet = try StageOutlet(plan, connections)
        if S.isSource {
            let door = try connections.bindDoor()
            return try SourceLoop<S>(plan, control, settings: settings, outlet: outlet, door: door)
        }
        let past = try SettingsTimeline<S>(plan, settings, isNew: outlet.log.lastNow == .epoch)
        let upstream = UpstreamRecord(plan).recorded()
        let search = upstream.flatMap { SnapshotSearch<S>(plan, outlet.log, past, upstream: $0) }
        let start = try search?.newest()
        let inlet = try connections.connect(after: start?.moment.position ?? 0)
        return ConsumerLoop<S>(
            plan, control, past: past, outlet: outlet, inlet: inlet, transports: crew, start: start,
            snapshots: search)
    }

    /// The host's work without its thread, for a simulation that calls each turn itself.
    func work(over connections: some HostConnections, _ crew: TransportDispatcher) throws -> (any HostWork)? {
        guard let type = registry.stages[kind] else { return nil }
        func make<S: Stage>(_ type: S.Type) throws -> any HostWork {
            try makeWork(type, settings.decode(S.Settings.self), crew, connections)
        }
        return try make(type)
    }

    private func runPlugin(_ command: [String]) async throws {
        let process = PluginProcess(command, directory: plan.directory, name: plan.stage)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let endpoint = plan.pluginEndpoint
            group.addTask {
                defer { control.stop() }
                try await process.keepRunning(endpoint: endpoint)
            }
            defer { process.stop() }
            try await SocketThread.run(name: plan.stage) {
                try DiskFullStartup(plan, control).run(HostSockets(plan, context)) { try runPluginLoop(process, $0) }
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
        work.program = PluginPrograms(
            onOpen: process.noteOpen, onSetAside: process.forgetFailures, isDown: { process.isDown })
        try loop.run(work)
    }
}
