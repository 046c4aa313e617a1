import PipelineKit
import Time

/// Hands pushes to the pools that carry them, and answers those that no pool takes.
struct Handover: ~Copyable {
    /// Pushes that a pool gets at once: the first are under way while the next are read.
    private static let partMax = 256
    private static let standOff = Duration.seconds(1)

    private let lines: [APNsTransport.AppLine]
    private let leaving: [LeavingPool]
    /// Lanes in which a push is still under way elsewhere: the next one waits for its answer.
    private let taken: Set<[UInt8]>
    private let now: Instant
    private let answered: @Sendable ([TransportAnswer]) -> Void
    private var reader: APNsPushReader
    /// By number of the line.
    private var parts: [[APNsPush]]
    private var answers: [TransportAnswer] = []
    /// That of the push before: most come in a row from one app.
    private var last: (app: Delivery.App?, line: Int)?

    init(
        _ lines: [APNsTransport.AppLine], _ leaving: [LeavingPool], at now: Instant, collapsesRepeats: Bool,
        _ answered: @escaping @Sendable ([TransportAnswer]) -> Void
    ) {
        (self.lines, self.leaving, self.now, self.answered) = (lines, leaving, now, answered)
        taken = leaving.reduce(into: []) { $0.formUnion($1.held.lanes) }
        parts = lines.map { _ in [] }
        reader = APNsPushReader(collapsesRepeats: collapsesRepeats)
    }

    mutating func hand(_ deliveries: [Delivery]) {
        var deliveries = deliveries
        for one in leaving { join(&deliveries, one.held.pushes, one.pool) }
        for delivery in deliveries { take(delivery) }
        for line in parts.indices { hand(line) }
        if !answers.isEmpty { answered(answers) }
    }

    private mutating func take(_ delivery: Delivery) {
        guard let line = line(of: delivery.app) else {
            let reason = MissingApp.reason(delivery.app, among: lines.map(\.app))
            return answers.append(.init(delivery.id, .stopped, reason: reason, attempts: 0))
        }
        do throws(UnsendablePush) {
            let app = lines[line].app
            let push = try reader.read(delivery, topic: app.topic, usesCertificate: app.usesCertificate)
            if !taken.isEmpty, let lane = push.lane, taken.contains(lane) { return putOff(delivery) }
            parts[line].append(push)
        } catch {
            return answers.append(.init(delivery.id, .failed, reason: error.reason, attempts: 0))
        }
        if parts[line].count == Self.partMax { hand(line) }
    }

    private mutating func line(of app: Delivery.App?) -> Int? {
        if let last, last.app == app { return last.line }
        guard let line = lines.firstIndex(where: { $0.app.isOf(app) }) else { return nil }
        last = (app, line)
        return line
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

    private mutating func hand(_ line: Int) {
        let pushes = parts[line]
        guard !pushes.isEmpty else { return }
        parts[line] = []
        lines[line].pool.run { [answered] in $0.take(pushes, answered) }
    }
}

extension APNsApp {
    /// A device that registered no topic is of the container's app.
    func isOf(_ app: Delivery.App?) -> Bool {
        guard let app else { return false }
        return app.container == container && app.environment == environment && app.topic ?? topic == topic
    }
}
