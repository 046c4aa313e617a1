import PipelineKit
import Time

/// Hands pushes to the pools that carry them, and answers those that no pool takes.
struct PushRouter: ~Copyable {
    /// Pushes that a pool gets at once: the first are under way while the next are read.
    private static let partMax = 256
    private static let standOff = Duration.seconds(1)

    private let routes: [APNsTransport.AppRoute]
    private let retired: [RetiredPool]
    /// Order keys of pushes that retired pools have in flight: the next push with such a key waits.
    private let taken: Set<[UInt8]>
    private let now: Instant
    private let answered: @Sendable ([TransportAnswer]) -> Void
    private var reader: APNsPushReader
    /// By index of the route.
    private var parts: [[APNsPush]]
    private var answers: [TransportAnswer] = []
    /// That of the push before: most come in a row from one app.
    private var last: (app: Delivery.App?, route: Int)?

    init(
        _ routes: [APNsTransport.AppRoute], _ retired: [RetiredPool], at now: Instant, collapsesRepeats: Bool,
        _ answered: @escaping @Sendable ([TransportAnswer]) -> Void
    ) {
        (self.routes, self.retired, self.now, self.answered) = (routes, retired, now, answered)
        taken = retired.reduce(into: []) { $0.formUnion($1.held.orderKeys) }
        parts = routes.map { _ in [] }
        reader = APNsPushReader(collapsesRepeats: collapsesRepeats)
    }

    mutating func route(_ deliveries: [Delivery]) {
        var deliveries = deliveries
        for one in retired { join(&deliveries, one.held.pushes, one.pool) }
        for delivery in deliveries { take(delivery) }
        for route in parts.indices { hand(route) }
        if !answers.isEmpty { answered(answers) }
    }

    private mutating func take(_ delivery: Delivery) {
        guard let route = route(of: delivery.app) else {
            let reason = MissingApp.reason(delivery.app, among: routes.map(\.app))
            return answers.append(.init(delivery.id, .stopped, reason: reason, attempts: 0))
        }
        do throws(UnsendablePush) {
            let app = routes[route].app
            let push = try reader.read(delivery, topic: app.topic, usesCertificate: app.usesCertificate)
            if !taken.isEmpty, let orderKey = push.orderKey, taken.contains(orderKey) { return putOff(delivery) }
            parts[route].append(push)
        } catch {
            return answers.append(.init(delivery.id, .failed, reason: error.reason, attempts: 0))
        }
        if parts[route].count == Self.partMax { hand(route) }
    }

    private mutating func route(of app: Delivery.App?) -> Int? {
        if let last, last.app == app { return last.route }
        guard let route = routes.firstIndex(where: { $0.app.isOf(app) }) else { return nil }
        last = (app, route)
        return route
    }

    private mutating func putOff(_ delivery: Delivery) {
        answers.append(
            TransportAnswer(
                delivery.id, .deferred, reason: PoolState.behind, attempts: 0,
                until: now.advanced(by: Self.standOff)))
    }

    /// A push that is still under way elsewhere is not sent twice.
    private mutating func join(_ deliveries: inout [Delivery], _ held: Set<Delivery.ID>, _ pool: PoolOnLoop) {
        let ids = deliveries.map(\.id).filter(held.contains)
        guard !ids.isEmpty else { return }
        deliveries.removeAll { held.contains($0.id) }
        pool.run { [answered] in $0.join(ids, answered) }
    }

    private mutating func hand(_ route: Int) {
        let pushes = parts[route]
        guard !pushes.isEmpty else { return }
        parts[route] = []
        routes[route].pool.run { [answered] in $0.take(pushes, answered) }
    }
}

extension APNsApp {
    /// A device that registered no topic is of the container's app.
    func isOf(_ app: Delivery.App?) -> Bool {
        guard let app else { return false }
        return app.container == container && app.environment == environment && app.topic ?? topic == topic
    }
}
