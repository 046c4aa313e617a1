import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit
import Synchronization

/// Sends pushes to Apple's push service, over connections that stay open.
///
/// Accepted means that APNs took the push, never that a device got it. A push that APNs does not answer soon is answered
/// as deferred; its last answer follows when it comes, and handed out again, the push joins what is still under way.
///
/// Rules: Sending notification requests to APNs; Handling notification responses from APNs; RFC 9113.
package final class APNsTransport: ContinuousTransport {
    package typealias Settings = APNsSettings

    package static let kind = "apns"

    private let context: TransportContext
    private let surroundings: Surroundings
    private let stopped: StoppedApps
    private let certificates: CertificateWatch
    private let state: Mutex<State>

    private struct State {
        var settings: APNsSettings
        var work: Work?
    }

    /// What is there between ``open()`` and ``close()``.
    struct Work {
        let threads: MultiThreadedEventLoopGroup
        var lines: [AppLine]
        var pools: [PoolPlan.Identity: PoolOnLoop]
        var plans: PoolPlans
        /// Pools that no app uses any more, and that still have pushes.
        var leaving: [PoolOnLoop] = []
        /// Pushes that came while there are such, one call behind the other.
        var behind: (last: Task<Void, Never>, count: Int)?
    }

    /// An app, and the pool that carries its pushes.
    struct AppLine {
        let app: APNsApp
        let pool: PoolOnLoop
    }

    /// In lower case: as tokens are compared and sent.
    package static func address(_ token: String) throws(Rejection) -> String {
        guard DeviceToken.isToken(token.utf8) else {
            throw Rejection(code: "device.token", reason: DeviceToken.rule, path: "token")
        }
        return token.lowercased()
    }

    package convenience init(_ settings: APNsSettings, context: TransportContext) throws(SettingsError) {
        self.init(
            settings, context: context,
            Surroundings(now: { .wall() }, jitter: { .random(in: 0...1) }))
    }

    init(_ settings: APNsSettings, context: TransportContext, _ surroundings: Surroundings) {
        state = Mutex(State(settings: settings))
        self.context = context
        stopped = StoppedApps(context)
        certificates = CertificateWatch(context)
        self.surroundings = surroundings
    }

    private var settings: APNsSettings { state.withLock { $0.settings } }

    package func open() async throws(TransportError) {
        let settings = settings
        let plans = try PoolPlans(settings, token: token(of:))
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: min(plans.pools.count, System.coreCount))
        let pools = try await pools(plans, beside: [:], on: threads)
        let lines = Self.lines(settings, plans, pools)
        state.withLock { $0.work = Work(threads: threads, lines: lines, pools: pools, plans: plans) }
        certificates.look(at: settings, now: surroundings.now())
    }

    private func token(of key: SigningKey) -> SharedToken {
        context.sharedResources.shared { StageTokens() }.token(of: key, context, jitter: surroundings.jitter)
    }

    private static func lines(
        _ settings: APNsSettings, _ plans: PoolPlans, _ pools: [PoolPlan.Identity: PoolOnLoop]
    ) -> [AppLine] {
        zip(settings.apps, plans.poolOfApp).compactMap { app, identity in
            pools[identity].map { AppLine(app: app, pool: $0) }
        }
    }

    /// The pools of all plans: those that there are, and new ones.
    private func pools(
        _ plans: PoolPlans, beside present: [PoolPlan.Identity: PoolOnLoop], on threads: MultiThreadedEventLoopGroup
    ) async throws(TransportError) -> [PoolPlan.Identity: PoolOnLoop] {
        var pools: [PoolPlan.Identity: PoolOnLoop] = [:]
        for (identity, plan) in plans.pools {
            if let pool = present[identity] {
                pools[identity] = pool
            } else {
                pools[identity] = try await pool(plan, on: threads.next())
            }
        }
        return pools
    }

    private func pool(_ plan: PoolPlan, on loop: any EventLoop) async throws(TransportError) -> PoolOnLoop {
        let (surroundings, allowance) = (surroundings, Allowance())
        let made = loop.submit {
            let pool = ConnectionPool(plan, loop, surroundings, allowance)
            return PoolOnLoop(loop: loop, bound: NIOLoopBound(pool, eventLoop: loop), allowance: allowance)
        }
        do { return try await made.get() } catch { throw TransportError("cannot start: \(error)") }
    }

    package func close() async {
        let work = state.withLock { state in
            defer { state.work = nil }
            return state.work
        }
        guard let work else { return }
        for pool in work.pools.values + work.leaving { pool.run { $0.close() } }
        do { try await work.threads.shutdownGracefully() } catch { return }
    }

    /// As many streams as the servers allow now on the connections that stand, less those whose pushes take longer than a
    /// window.
    package var inFlightMax: Int {
        state.withLock { state in
            let allowed = state.work?.pools.values.reduce(0) { $0 + $1.allowance.count } ?? 1
            return min(allowed, state.settings.inFlightMax)
        }
    }

    var lines: [AppLine] { state.withLock { $0.work?.lines } ?? [] }

    /// The streams of the app's own pool: no other pool's server can take its room.
    package func room(for app: Delivery.App?) -> TransportRoom {
        state.withLock { state in
            guard let work = state.work, let place = work.lines.firstIndex(where: { $0.app.isOf(app) }) else {
                return TransportRoom(channel: -1, pushesMax: .max)
            }
            let pool = work.lines[place].pool
            let channel = work.lines.firstIndex { $0.pool.allowance === pool.allowance } ?? place
            return TransportRoom(
                channel: channel, pushesMax: min(pool.allowance.count, state.settings.inFlightMax),
                isSilent: pool.allowance.isSilent)
        }
    }

    package func take(_ pushes: [Delivery], answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        guard !lines.isEmpty else {
            return answered(
                pushes.map { TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0) })
        }
        let noted = note(answered, of: pushes)
        let isBehind = state.withLock { state in
            guard let work = state.work, !work.leaving.isEmpty || work.behind != nil else { return false }
            let last = Task { [before = work.behind?.last] in
                await before?.value
                hand(pushes, beside: await leaving(), noted)
                endTurn()
            }
            state.work?.behind = (last, (work.behind?.count ?? 0) + 1)
            return true
        }
        if !isBehind { hand(pushes, beside: [], noted) }
    }

    private func endTurn() {
        state.withLock { state in
            guard let behind = state.work?.behind else { return }
            state.work?.behind = behind.count > 1 ? (behind.last, behind.count - 1) : nil
        }
    }

    /// Watches the answers for apps that are stopped.
    private func note(
        _ answered: @escaping @Sendable ([TransportAnswer]) -> Void, of pushes: [Delivery]
    ) -> @Sendable ([TransportAnswer]) -> Void {
        { [stopped] answers in
            stopped.note(answers, to: pushes)
            answered(answers)
        }
    }

    private func hand(
        _ pushes: [Delivery], beside leaving: [LeavingPool], _ answered: @escaping @Sendable ([TransportAnswer]) -> Void
    ) {
        let now = surroundings.now()
        certificates.look(at: settings, now: now)
        let lines = lines
        guard !lines.isEmpty else {
            return answered(
                pushes.map { TransportAnswer($0.id, .deferred, reason: PoolState.closed, attempts: 0) })
        }
        var handover = Handover(lines, leaving, at: now, collapsesRepeats: settings.collapsesRepeats, answered)
        handover.hand(pushes)
    }

    // MARK: Other settings

    package func change(to settings: APNsSettings) async throws(TransportError) -> TransportChange? {
        guard let work = state.withLock({ $0.work }) else { return nil }
        let plans = try PoolPlans(settings, token: token(of:))
        let pools = try await pools(plans, beside: work.pools, on: work.threads)
        let said = SettingsChangeSummary(from: (self.settings, work.plans), to: (settings, plans)).said
        return TransportChange(said: said) { [self] in apply(settings, plans, pools) }
    }

    private func apply(_ settings: APNsSettings, _ plans: PoolPlans, _ pools: [PoolPlan.Identity: PoolOnLoop]) {
        let unused = state.withLock { state -> [PoolOnLoop] in
            let unused = state.work?.pools.filter { pools[$0.key] == nil }.map(\.value) ?? []
            state.settings = settings
            state.work?.lines = Self.lines(settings, plans, pools)
            state.work?.pools = pools
            state.work?.plans = plans
            state.work?.leaving += unused
            return unused
        }
        for pool in unused { pool.run { $0.leave() } }
        for (identity, pool) in pools {
            if let plan = plans.pools[identity] { pool.run { $0.use(plan) } }
        }
    }

    /// Pools that still have pushes which came before their apps went elsewhere. The others are let go of.
    private func leaving() async -> [LeavingPool] {
        let leaving = state.withLock { $0.work?.leaving } ?? []
        guard !leaving.isEmpty else { return [] }
        var still: [LeavingPool] = []
        for pool in leaving {
            let held = await pool.held()
            if held.pushes.isEmpty {
                pool.run { $0.close() }
            } else {
                still.append(LeavingPool(pool: pool, held: held))
            }
        }
        state.withLock { $0.work?.leaving = still.map(\.pool) }
        return still
    }
}

/// A pool that no app uses any more, and what it still has.
struct LeavingPool {
    let pool: PoolOnLoop
    let held: ConnectionPool.Held
}

/// A pool, to be spoken to from anywhere.
struct PoolOnLoop: Sendable {
    let loop: any EventLoop
    let bound: NIOLoopBound<ConnectionPool>
    let allowance: Allowance

    func run(_ work: @escaping @Sendable (ConnectionPool) -> Void) { loop.execute { work(bound.value) } }

    func held() async -> ConnectionPool.Held {
        do { return try await loop.submit { bound.value.held }.get() } catch { return .init() }
    }
}
