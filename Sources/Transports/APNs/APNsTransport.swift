import EventLog
import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit
import Synchronization

/// Sends pushes to Apple's push service, over connections that stay open.
///
/// Accepted means that APNs took the push, never that a device got it. What APNs does not answer soon is answered as
/// deferred; handed out again, it joins what is still under way.
///
/// Rules: Sending notification requests to APNs; Handling notification responses from APNs; RFC 9113.
public final class APNsTransport: Transport {
    public typealias Settings = APNsSettings

    public static let kind = "apns"

    private let settings: APNsSettings
    private let context: TransportContext
    private let surroundings: Surroundings
    private let stopped: StoppedApps
    private let work = Mutex<Work?>(nil)

    /// What is there between ``open()`` and ``close()``.
    struct Work {
        let threads: MultiThreadedEventLoopGroup
        let lines: [AppLine]
        let allowances: [Allowance]
    }

    /// An app, and the pool that carries its pushes.
    struct AppLine {
        let app: APNsApp
        let pool: PoolOnLoop
    }

    public convenience init(_ settings: APNsSettings, context: TransportContext) throws(SettingsError) {
        self.init(
            settings, context: context,
            Surroundings(now: { .wall() }, jitter: { .random(in: 0...1) }))
    }

    init(_ settings: APNsSettings, context: TransportContext, _ surroundings: Surroundings) {
        self.settings = settings
        self.context = context
        stopped = StoppedApps(context)
        self.surroundings = surroundings
    }

    public func open() async throws(TransportError) {
        let plans = try PoolPlans(settings, folder: context.folder, transport: context.name)
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: min(plans.pools.count, System.coreCount))
        var pools: [PoolOnLoop] = []
        for plan in plans.pools { pools.append(try await pool(plan, on: threads.next())) }
        let lines = zip(settings.apps, plans.poolOfApp).map { app, index in
            AppLine(app: app, pool: pools[index])
        }
        let allowances = pools.map(\.allowance)
        work.withLock { $0 = Work(threads: threads, lines: lines, allowances: allowances) }
    }

    private func pool(_ plan: PoolPlan, on loop: any EventLoop) async throws(TransportError) -> PoolOnLoop {
        let (surroundings, allowance) = (surroundings, Allowance())
        let made = loop.submit {
            let pool = ConnectionPool(plan, loop, surroundings, allowance)
            return PoolOnLoop(loop: loop, bound: NIOLoopBound(pool, eventLoop: loop), allowance: allowance)
        }
        do { return try await made.get() } catch { throw TransportError("cannot start: \(error)") }
    }

    public func close() async {
        guard let work = work.withLock({ $0.take() }) else { return }
        for line in work.lines { line.pool.run { $0.close() } }
        do { try await work.threads.shutdownGracefully() } catch { return }
    }

    /// As many streams as the servers allow now on the connections that stand, less those whose pushes take longer than a
    /// window.
    public var inFlightMax: Int {
        let allowed = work.withLock { $0?.allowances.reduce(0) { $0 + $1.count } ?? 1 }
        return min(allowed, settings.inFlightMax)
    }

    var lines: [AppLine] { work.withLock { $0?.lines } ?? [] }

    public func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        let lines = lines
        guard !lines.isEmpty else {
            return pushes.map { TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0) }
        }
        let answers = await Window(pushes, lines, collapsesRepeats: settings.collapsesRepeats).wait()
        stopped.note(answers, to: pushes)
        return answers
    }
}

/// A pool, to be spoken to from anywhere.
struct PoolOnLoop: Sendable {
    let loop: any EventLoop
    let bound: NIOLoopBound<ConnectionPool>
    let allowance: Allowance

    func run(_ work: @escaping @Sendable (ConnectionPool) -> Void) { loop.execute { work(bound.value) } }
}
