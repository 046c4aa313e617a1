import PipelineKit
import Time

/// Gives each push to the pool of its app, and answers pushes that cannot be sent.
struct PushRouter: ~Copyable {
    /// How many pushes a pool gets in one part. The pool sends them while the router reads the next part.
    private static let partMax = 256
    /// How long a push waits if a retired pool has an earlier push with the same order key in flight.
    private static let waitBehindRetired = Duration.seconds(1)

    private let routes: [APNsTransport.AppRoute]
    private let retired: [RetiredPool]
    /// The order keys of the retired pools' pushes that have not ended. Other pushes with such a key wait.
    private let busyOrderKeys: Set<[UInt8]>
    private let now: Instant
    private let answered: @Sendable ([TransportAnswer]) -> Void
    private var reader: APNsPushReader
    /// The pushes for each route that were not passed to its pool yet.
    private var parts: [[APNsPush]]
    private var answers: [TransportAnswer] = []
    /// The app and route of the previous push: consecutive pushes mostly have the same app.
    private var last: (app: Delivery.App?, route: Int)?

    init(
        _ routes: [APNsTransport.AppRoute], _ retired: [RetiredPool], at now: Instant, collapsesRepeats: Bool,
        _ answered: @escaping @Sendable ([TransportAnswer]) -> Void
    ) {
        (self.routes, self.retired, self.now, self.answered) = (routes, retired, now, answered)
        busyOrderKeys = retired.reduce(into: []) { $0.formUnion($1.held.orderKeys) }
        parts = routes.map { _ in [] }
        reader = APNsPushReader(collapsesRepeats: collapsesRepeats)
    }

    mutating func route(_ deliveries: [Delivery]) {
        var deliveries = deliveries
        for pool in retired { join(&deliveries, pool.held.pushes, pool.pool) }
        for delivery in deliveries { addToPart(delivery) }
        for route in parts.indices { sendPart(of: route) }
        if !answers.isEmpty { answered(answers) }
    }

    private mutating func addToPart(_ delivery: Delivery) {
        guard let route = route(of: delivery.app) else {
            let reason = MissingApp.reason(delivery.app, among: routes.map(\.app))
            return answers.append(.init(delivery.id, .stopped, reason: reason, attempts: 0))
        }
        do throws(UnsendablePush) {
            let app = routes[route].app
            let push = try reader.read(delivery, topic: app.topic, usesCertificate: app.usesCertificate)
            if !busyOrderKeys.isEmpty, let orderKey = push.orderKey, busyOrderKeys.contains(orderKey) {
                return deferBehindRetired(delivery)
            }
            parts[route].append(push)
        } catch {
            return answers.append(.init(delivery.id, .failed, reason: error.reason, attempts: 0))
        }
        if parts[route].count == Self.partMax { sendPart(of: route) }
    }

    private mutating func route(of app: Delivery.App?) -> Int? {
        if let last, last.app == app { return last.route }
        guard let route = routes.firstIndex(where: { $0.app.serves(app) }) else { return nil }
        last = (app, route)
        return route
    }

    private mutating func deferBehindRetired(_ delivery: Delivery) {
        answers.append(
            TransportAnswer(
                delivery.id, .deferred, reason: PoolState.behind, attempts: 0,
                until: now.advanced(by: Self.waitBehindRetired)))
    }

    /// Lets a retired pool answer the pushes that it still holds, so that no other pool sends them again.
    private mutating func join(_ deliveries: inout [Delivery], _ held: Set<Delivery.ID>, _ pool: PoolOnLoop) {
        let ids = deliveries.map(\.id).filter(held.contains)
        guard !ids.isEmpty else { return }
        deliveries.removeAll { held.contains($0.id) }
        pool.run { [answered] in $0.join(ids, answered) }
    }

    private mutating func sendPart(of route: Int) {
        let pushes = parts[route]
        guard !pushes.isEmpty else { return }
        parts[route] = []
        routes[route].pool.run { [answered] in $0.send(pushes, answered) }
    }
}

extension APNsApp {
    /// Whether pushes for `app` can be sent with this app's settings and credential: both have the same container,
    /// environment and topic. If the device has registered no topic, `app` has no topic, and every app in the settings
    /// with the same container and environment fits. The router then uses the first of these apps.
    func serves(_ app: Delivery.App?) -> Bool {
        guard let app else { return false }
        return app.container == container && app.environment == environment && app.topic ?? topic == topic
    }
}
