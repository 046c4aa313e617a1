import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit
import Synchronization

/// Sends pushes to Apple's push service, over connections that stay open.
///
/// Accepted means that APNs accepted the push, not that a device got it. A push that APNs does not answer soon is
/// reported as deferred and stays in flight; its final answer follows. If the stage passes such a push again, no second
/// request is sent: the push gets the answer to the request in flight.
///
/// The rules are from RFC 9113 and from Apple's pages "Sending notification requests to APNs" and
/// "Handling notification responses from APNs".
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

    /// The state between ``open()`` and ``close()``.
    struct Work {
        let threads: MultiThreadedEventLoopGroup
        var routes: [AppRoute]
        var pools: [PoolPlan.Identity: PoolOnLoop]
        var plans: PoolPlans
        /// Pools that no app uses any more. Calls of ``take(_:answered:)`` close and remove the pools that have nothing
        /// left to do: see ``busyRetiredPools()``.
        var retired: [PoolOnLoop] = []
        /// A queue of calls of ``take(_:answered:)``, which have their turns one after the other: the newest call, and
        /// the number of calls in the queue. In its turn, a call first asks the retired pools which pushes they still
        /// hold.
        var queued: (last: Task<Void, Never>, count: Int)?
    }

    /// An app, and the pool that sends its pushes.
    struct AppRoute {
        let app: APNsApp
        let pool: PoolOnLoop
    }

    /// The device token in lower case. Tokens are compared and sent in this form.
    package static func address(_ token: String) throws(Rejection) -> String {
        guard DeviceToken.isToken(token.utf8) else {
            throw Rejection(code: "device.token", reason: DeviceToken.rejection, path: "token")
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
        let pools = try await pools(plans, reusing: [:], on: threads)
        let routes = Self.routes(settings, plans, pools)
        state.withLock { $0.work = Work(threads: threads, routes: routes, pools: pools, plans: plans) }
        certificates.reportEndingCertificates(in: settings, now: surroundings.now())
    }

    private func token(of key: SigningKey) -> SharedToken {
        context.sharedResources.shared { StageTokens() }.token(of: key, context, jitter: surroundings.jitter)
    }

    private static func routes(
        _ settings: APNsSettings, _ plans: PoolPlans, _ pools: [PoolPlan.Identity: PoolOnLoop]
    ) -> [AppRoute] {
        zip(settings.apps, plans.poolOfApp).compactMap { app, identity in
            pools[identity].map { AppRoute(app: app, pool: $0) }
        }
    }

    /// A pool for each plan: the current pool if there is one, otherwise a new pool.
    private func pools(
        _ plans: PoolPlans, reusing current: [PoolPlan.Identity: PoolOnLoop], on threads: MultiThreadedEventLoopGroup
    ) async throws(TransportError) -> [PoolPlan.Identity: PoolOnLoop] {
        var pools: [PoolPlan.Identity: PoolOnLoop] = [:]
        for (identity, plan) in plans.pools {
            if let pool = current[identity] {
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
        do { return try await made.get() } catch {
            throw TransportError("cannot start a pool of connections: \(error)")
        }
    }

    package func close() async {
        let work = state.withLock { state in
            defer { state.work = nil }
            return state.work
        }
        guard let work else { return }
        for pool in work.pools.values + work.retired { pool.run { $0.close() } }
        do { try await work.threads.shutdownGracefully() } catch { return }
    }

    /// The number of streams that the servers allow on the open connections: the sum over all pools, at least 1 for
    /// each pool, and at most the setting `inFlightMax`. The streams of deferred pushes that are still in flight are
    /// not counted, because the host no longer counts these pushes.
    package var inFlightMax: Int {
        state.withLock { state in
            let allowed = state.work?.pools.values.reduce(0) { $0 + $1.allowance.count } ?? 1
            return min(allowed, state.settings.inFlightMax)
        }
    }

    var routes: [AppRoute] { state.withLock { $0.work?.routes } ?? [] }

    /// The room in the app's own pool, which pushes of other pools cannot use up. A push of an app that the transport
    /// does not have needs no room, because it is not sent.
    package func room(for app: Delivery.App?) -> TransportRoom {
        state.withLock { state in
            guard let work = state.work, let place = work.routes.firstIndex(where: { $0.app.serves(app) }) else {
                return TransportRoom(channel: -1, pushesMax: .max)
            }
            let pool = work.routes[place].pool
            let channel = work.routes.firstIndex { $0.pool.allowance === pool.allowance } ?? place
            return TransportRoom(
                channel: channel, pushesMax: min(pool.allowance.count, state.settings.inFlightMax),
                isSilent: pool.allowance.isServerUnresponsive)
        }
    }

    package func take(_ pushes: [Delivery], answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        guard !routes.isEmpty else {
            return answered(
                pushes.map { TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0) })
        }
        let passOn = noting(answered, of: pushes)
        let isQueued = state.withLock { state in
            guard let work = state.work, !work.retired.isEmpty || work.queued != nil else { return false }
            let last = Task { [before = work.queued?.last] in
                await before?.value
                route(pushes, beside: await busyRetiredPools(), passOn)
                endTurn()
            }
            state.work?.queued = (last, (work.queued?.count ?? 0) + 1)
            return true
        }
        if !isQueued { route(pushes, beside: [], passOn) }
    }

    private func endTurn() {
        state.withLock { state in
            guard let queued = state.work?.queued else { return }
            state.work?.queued = queued.count > 1 ? (queued.last, queued.count - 1) : nil
        }
    }

    /// - Returns: A function that shows answers to ``StoppedApps``, and then passes them to `answered`.
    private func noting(
        _ answered: @escaping @Sendable ([TransportAnswer]) -> Void, of pushes: [Delivery]
    ) -> @Sendable ([TransportAnswer]) -> Void {
        { [stopped] answers in
            stopped.note(answers, to: pushes)
            answered(answers)
        }
    }

    private func route(
        _ pushes: [Delivery], beside retired: [RetiredPool], _ answered: @escaping @Sendable ([TransportAnswer]) -> Void
    ) {
        let now = surroundings.now()
        certificates.reportEndingCertificates(in: settings, now: now)
        let routes = routes
        guard !routes.isEmpty else {
            return answered(
                pushes.map { TransportAnswer($0.id, .deferred, reason: PoolState.closed, attempts: 0) })
        }
        var router = PushRouter(routes, retired, at: now, collapsesRepeats: settings.collapsesRepeats, answered)
        router.route(pushes)
    }

    // MARK: Changed settings

    package func change(to settings: APNsSettings) async throws(TransportError) -> TransportChange? {
        guard let work = state.withLock({ $0.work }) else { return nil }
        let plans = try PoolPlans(settings, token: token(of:))
        let pools = try await pools(plans, reusing: work.pools, on: work.threads)
        let summary = SettingsChangeSummary(from: (self.settings, work.plans), to: (settings, plans))
        return TransportChange(descriptions: summary.sentences) { [self] in apply(settings, plans, pools) }
    }

    private func apply(_ settings: APNsSettings, _ plans: PoolPlans, _ pools: [PoolPlan.Identity: PoolOnLoop]) {
        let unused = state.withLock { state -> [PoolOnLoop] in
            let unused = state.work?.pools.filter { pools[$0.key] == nil }.map(\.value) ?? []
            state.settings = settings
            state.work?.routes = Self.routes(settings, plans, pools)
            state.work?.pools = pools
            state.work?.plans = plans
            state.work?.retired += unused
            return unused
        }
        for pool in unused { pool.run { $0.retire() } }
        for (identity, pool) in pools {
            if let plan = plans.pools[identity] { pool.run { $0.use(plan) } }
        }
    }

    /// The retired pools with pushes that have not ended, or with answers that the stage has not collected. Closes the
    /// other retired pools.
    private func busyRetiredPools() async -> [RetiredPool] {
        let retired = state.withLock { $0.work?.retired } ?? []
        guard !retired.isEmpty else { return [] }
        var busy: [RetiredPool] = []
        var closed: Set<ObjectIdentifier> = []
        for pool in retired {
            let held = await pool.held()
            if held.pushes.isEmpty, !held.hasRequests {
                pool.run { $0.close() }
                closed.insert(pool.id)
            } else {
                busy.append(RetiredPool(pool: pool, held: held))
            }
        }
        // A change of settings may have retired further pools meanwhile.
        state.withLock { $0.work?.retired.removeAll { closed.contains($0.id) } }
        return busy
    }
}

/// A pool that no app uses any more, and the pushes that it still holds.
struct RetiredPool {
    let pool: PoolOnLoop
    let held: ConnectionPool.HeldPushes
}

/// A pool that any thread may call.
struct PoolOnLoop: Sendable {
    let loop: any EventLoop
    let bound: NIOLoopBound<ConnectionPool>
    let allowance: Allowance

    /// Different for each pool, because each has an allowance of its own.
    var id: ObjectIdentifier { ObjectIdentifier(allowance) }

    func run(_ work: @escaping @Sendable (ConnectionPool) -> Void) { loop.execute { work(bound.value) } }

    func held() async -> ConnectionPool.HeldPushes {
        do { return try await loop.submit { bound.value.held }.get() } catch { return .init() }
    }
}
