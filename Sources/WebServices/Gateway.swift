import Access
import BuiltInStages
import Glibc
import HTTPServer
import PipelineKit
import PipelineRuntime
import RecordStore
import StageTool
import Synchronization
import Time
import ZeroMQ

/// The gateway for CloudKit Web Services: an HTTP server, a producer at ingest's door, and a store that follows
/// ingest's log.
///
/// A successful write is answered when its events are durable in the changes log and applied to this store. A read is
/// answered when the store has everything that was acknowledged before the read came. So a client reads all earlier
/// writes, whichever gateway answered them.
package final class Gateway: Sendable {
    /// The path of the pipeline file, for messages.
    package let path: String
    let settings: GatewaySettings
    /// The folder of the store, the assets and the producer's secret.
    package let folder: String
    private let file: PipelineFile
    private let plan: HostPlan
    private let context: HostContext
    private let say: @Sendable (String) -> Void
    private let isStopping = Atomic(false)
    private let threadsMustEnd = Atomic(false)
    let reads: ReadThreads
    /// Nil until the gateway accepts requests.
    private let server = Mutex<WebServer?>(nil)
    /// The certificate of the last ``reload(_:)``; nil before a reload.
    private let reloaded = Mutex<ServerCertificate?>(nil)
    private let signals: Signals

    /// How long requests in flight may take when the gateway stops.
    private static let grace = Duration.seconds(10)
    /// How long writes may wait for ingest when the gateway stops. Then the gateway answers that their outcome is
    /// unknown.
    private static let graceOfWrites = Duration.seconds(2)
    /// How long reads may go on when the gateway stops. The rest of ``grace`` is for sending their answers.
    private static let graceOfReads = Duration.seconds(2)

    private struct Signals {
        let door: WakeSignal
        let questions: WakeSignal
        let store: WakeSignal
        let assets: WakeSignal
        let stop: AsyncStream<Void>
        let stopped: AsyncStream<Void>.Continuation
    }

    /// - Parameters:
    ///   - path: The pipeline file, for messages.
    ///   - now: The time by a monotonic clock, which limits how long reads take.
    ///   - say: Writes a message for the operator.
    /// - Throws: `PipelineFileError` if the file has no valid settings of a gateway; `SettingsError` for a mistake in
    ///   the settings of the source stage. Another error if the process has no file descriptors left.
    package init(
        of file: PipelineFile, path: String, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        say: @escaping @Sendable (String) -> Void
    ) throws {
        settings = try GatewaySettings(of: file, path: path)
        (self.path, self.file, self.say, reads) = (path, file, say, ReadThreads(now: now))
        folder = settings.folder(of: file)
        context = try HostContext()
        var surroundings = HostSurroundings(registry: .builtInStages, context: context)
        surroundings.openHome = HostSurroundings.openJetStreamHome
        plan = try StageHost(file.sourceStage, of: file, in: surroundings).plan
        let (stop, stopped) = AsyncStream.makeStream(of: Void.self)
        signals = Signals(
            door: try WakeSignal(), questions: try WakeSignal(), store: try WakeSignal(), assets: try WakeSignal(),
            stop: stop, stopped: stopped)
    }

    /// Makes the gateway finish the requests in flight, and then stop. Reads that take long are ended.
    package func stop() {
        isStopping.store(true, ordering: .relaxed)
        reads.stop(within: Self.graceOfReads)
        signals.stopped.finish()
    }

    /// Serves until ``stop()`` is called.
    ///
    /// - Parameter onReady: Called with the address when the store has caught up and the gateway accepts requests.
    package func run(onReady: @escaping @Sendable (String) -> Void) async throws {
        let access = AccessControl(keyFile: settings.keyFile(of: file)) { [say] in
            say("every request is refused: \($0)")
        }
        if let error = settings.missingKeys(access, file) { throw PipelineFileError([error]) }
        try DataFolder.prepare(folder, file.dataMode)
        let lock = try StoreLock(folder: folder)
        defer { withExtendedLifetime(lock) {} }
        guard let store = try await openStore() else { return }
        let writes = PendingWrites<AppliedRequest> { [signals] in signals.door.signal() }
        let barrier = ReadBarrier { [signals] in signals.questions.signal() }
        let applied = try store.applied.sequence
        if access.isOpen { say("there are no keys: every client on this machine can act as any user") }
        let secret = try ProducerSecret.readOrMake(at: "\(folder)/\(ProducerSecret.fileName)")
        let assets = AssetFolder(path: "\(folder)/\(StoreFolder.assetsName)", mode: file.dataMode)
        let service = WebService(
            settings, store, writes, barrier, access, reads, assets: assets,
            tickets: AssetTickets(secret: try assets.secret()))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.sendWrites(writes, secret, applied: applied) }
            group.addTask { try await self.askForLogEnd(barrier) }
            group.addTask { try await self.follow(store, applied: applied, service, barrier) }
            group.addTask { try await self.sweepAssets(service, barrier) }
            group.addTask { try await self.serve(service, barrier, onReady) }
            // After an error of one task, the others must be told to end. Only then does the group end.
            var results = [await group.nextResult()]
            stop()
            writes.close()
            barrier.close()
            endThreads()
            while let result = await group.nextResult() { results.append(result) }
            for result in results { try result?.get() }
        }
    }

    /// Reads the certificate from the files that the pipeline file now names: other files than before, or the same
    /// files with a renewed certificate. Clients that connect later get this certificate.
    ///
    /// - Throws: `PipelineFileError` if the settings of the gateway have mistakes or the certificate cannot be used. If
    ///   the file changes the data folder, or settings of the gateway other than the paths of the certificate and its
    ///   key, the error lists each of these changes.
    package func reload(_ file: PipelineFile) throws(PipelineFileError) {
        let next = try GatewaySettings(of: file, path: path)
        let (reason, hint) = ("a reload cannot change this setting for the gateway", "restart belfry up to use it")
        var changes = next.keysOfChanges(from: settings).compactMap { file.api?.fail($0, reason, hint: hint) }
        if file.data != self.file.data { changes.append(file.settings.fail("data", reason, hint: hint)) }
        guard changes.isEmpty else { throw PipelineFileError(changes) }
        guard let certificate = try next.certificate() else { return }
        reloaded.withLock { $0 = certificate }
        server.withLock { $0 }?.use(certificate)
    }

    private func endThreads() {
        threadsMustEnd.store(true, ordering: .relaxed)
        for signal in [signals.door, signals.questions, signals.store, signals.assets] { signal.signal() }
    }

    private var threadsMayRun: Bool { !threadsMustEnd.load(ordering: .relaxed) }
    private var mayServe: Bool { !isStopping.load(ordering: .relaxed) }
}

// MARK: - Threads

extension Gateway {
    /// Opens the store of ingest's log, as soon as ingest says which log it has; nil if the gateway is stopped earlier.
    private func openStore() async throws -> RecordStore? {
        let end = try await SocketThread.run(name: "api start") { try self.logEnd() }
        guard let end else { return nil }
        let path = "\(folder)/\(StoreFolder.storeName)"
        let store = try RecordStore(path: path, log: end.identity)
        let applied = try store.applied.sequence
        guard applied <= end.lastSequence else {
            throw RecordStoreError.unusable(
                path: path,
                reason:
                    "the store has event \(applied), but the log ends at \(end.lastSequence); perhaps the log was "
                    + "restored from an older copy: make the store again with belfry store rebuild")
        }
        return store
    }

    private func logEnd() throws -> LogEnd? {
        let watch = try plan.ownerWatch()
        var probe = try HealthProbe(plan, context)
        while mayServe {
            if let endpoint = plan.bind(on: watch?.owner(atMost: .milliseconds(200))), endpoint != probe.endpoint {
                probe = try HealthProbe(plan, context, endpoint: endpoint)
            }
            if let refusal = try probe.refusal(onlyIfCertain: true) { throw refusal }
            guard let answer = try probe.ask(timeout: .milliseconds(200)), let end = LogEnd(answer) else { continue }
            return end
        }
        return nil
    }

    private func sendWrites(
        _ writes: PendingWrites<AppliedRequest>, _ secret: String, applied: UInt64
    ) async throws {
        try await SocketThread.run(name: "api door") { [self] in
            let socket = try ToolSocket.make(plan, context)
            defer { socket.close() }
            let name = "api \(LogIdentity(seed: secret, name: PipelineFile.gatewayName))"
            let producer = try Producer(
                socket, endpoint: plan.door ?? "", name: name, secret: secret, wake: signals.door)
            if let watch = try plan.ownerWatch() {
                producer.currentEndpoint = { [plan] in plan.door(on: watch.owner()) }
            }
            try DoorProducer(writes: writes, wake: signals.door) { !self.threadsMayRun }.run(producer, applied: applied)
        }
    }

    private func askForLogEnd(_ barrier: ReadBarrier) async throws {
        try await SocketThread.run(name: "api questions") { [self] in
            try LogEndQuestions(barrier, plan, context, signals.questions).run { threadsMayRun }
        }
    }

    private func follow(
        _ store: RecordStore, applied: UInt64, _ service: WebService, _ barrier: ReadBarrier
    ) async throws {
        try await SocketThread.run(name: "api store") { [self] in
            let socket = try ToolSocket.make(plan, context)
            defer { socket.close() }
            let cascades = CascadedDeletes(store, service.ids, service.writes)
            let follower = try StoreFollower(
                RecordWriter(store), applied: applied, socket, endpoint: plan.bind, service.writes, barrier
            ) { try cascades.send(afterDelete: $0) }
            if let watch = try plan.ownerWatch() {
                follower.follows { [plan] in plan.bind(on: watch.owner()) }
            }
            do { try follower.run(wake: signals.store) { threadsMayRun } } catch LinkError.refused(
                _, "link.gone", let reason
            ) {
                throw StoreFolderError.behind(folder: folder, reason: reason)
            }
        }
    }

    private func sweepAssets(_ service: WebService, _ barrier: ReadBarrier) async throws {
        await waitForStore(barrier)
        try await SocketThread.run(name: "api assets") { [self] in
            try AssetSweep(assets: service.assets, store: service.store).run(
                signals.assets, while: { mayServe && threadsMayRun }, isStoreCurrent: { barrier.lag == 0 },
                onError: { say("unused files of assets cannot be removed: \($0)") })
        }
    }

    /// Returns when the store has caught up, or the gateway stops.
    private func waitForStore(_ barrier: ReadBarrier) async {
        while mayServe, !(await barrier.pass(until: .now + .seconds(1))) {}
    }

    private func serve(
        _ service: WebService, _ barrier: ReadBarrier, _ onReady: @Sendable (String) -> Void
    ) async throws {
        // The gateway accepts requests only when the store has caught up.
        await waitForStore(barrier)
        guard mayServe else { return }
        let accessLog = settings.accessLog.map { AccessLogFile(path: $0, mode: file.dataMode, say: say) }
        let options = service.serverOptions(try settings.certificate(), log: accessLog.map { $0.log })
        let server: WebServer
        do { server = try await WebServer.start(options) { await service.answer($0) } } catch let error as ListenError {
            throw AddressError(key: "api.listen", reason: "api.listen: \(error)")
        }
        self.server.withLock { $0 = server }
        if let certificate = reloaded.withLock({ $0 }) { server.use(certificate) }
        try GatewayFile.write(port: server.port, host: settings.address.host, in: folder, process: getpid())
        onReady(service.address(port: server.port))
        for await _ in signals.stop {}
        let closing = Task {
            try await Task.sleep(for: Self.graceOfWrites)
            service.writes.close()
        }
        try await server.stop(within: Self.grace)
        closing.cancel()
        await accessLog?.close()
    }
}
