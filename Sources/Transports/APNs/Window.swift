import EventLog
import NIOCore
import PipelineKit

/// Pushes that were handed out together, on their way to the pools that carry them.
struct Window: ~Copyable {
    /// Pushes that a pool gets at once: the first are under way while the next are read.
    private static let partMax = 256
    private static let standOff = Duration.seconds(1)

    private let lines: [APNsTransport.AppLine]
    /// Lanes in which a push is still under way elsewhere: the next one waits for its answer.
    private let taken: Set<[UInt8]>
    private let now: Instant
    /// By number of the line.
    private var parts: [[APNsPush]]
    private var futures: [EventLoopFuture<[TransportAnswer]>] = []
    private var answers: [TransportAnswer] = []

    init(
        _ deliveries: [Delivery], _ lines: [APNsTransport.AppLine], _ leaving: [LeavingPool], at now: Instant,
        collapsesRepeats: Bool
    ) {
        (self.lines, self.now) = (lines, now)
        taken = leaving.reduce(into: []) { $0.formUnion($1.held.lanes) }
        parts = lines.map { _ in [] }
        var deliveries = deliveries
        for one in leaving { join(&deliveries, one.held.pushes, one.pool) }
        var reader = APNsPushReader(collapsesRepeats: collapsesRepeats)
        for delivery in deliveries { take(delivery, &reader) }
        for line in parts.indices { hand(line) }
    }

    private mutating func take(_ delivery: Delivery, _ reader: inout APNsPushReader) {
        guard let line = lines.firstIndex(where: { $0.app.isOf(delivery.app) }) else {
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

    private mutating func putOff(_ delivery: Delivery) {
        answers.append(
            TransportAnswer(
                delivery.id, .deferred, reason: ConnectionPool.behind, attempts: 0,
                until: now.advanced(by: Self.standOff)))
    }

    /// A push that is still under way elsewhere is not sent twice.
    private mutating func join(_ deliveries: inout [Delivery], _ held: Set<Delivery.ID>, _ pool: PoolOnLoop) {
        let ids = deliveries.map(\.id).filter(held.contains)
        guard !ids.isEmpty else { return }
        deliveries.removeAll { held.contains($0.id) }
        let promise = pool.loop.makePromise(of: [TransportAnswer].self)
        pool.run { $0.join(ids, promise) }
        futures.append(promise.futureResult)
    }

    private mutating func hand(_ line: Int) {
        let pushes = parts[line]
        guard !pushes.isEmpty else { return }
        parts[line] = []
        let promise = lines[line].pool.loop.makePromise(of: [TransportAnswer].self)
        lines[line].pool.run { $0.take(pushes, promise) }
        futures.append(promise.futureResult)
    }

    /// One answer for each push.
    consuming func wait() async -> [TransportAnswer] {
        var answers = answers
        for future in futures {
            // A pool keeps its promises: it has an answer for whatever goes wrong.
            do { answers += try await future.get() } catch { preconditionFailure("a pool broke its promise: \(error)") }
        }
        return answers
    }
}

extension APNsApp {
    /// A device that registered no topic is of the container's app.
    func isOf(_ app: Delivery.App?) -> Bool {
        guard let app else { return false }
        return app.container == container && app.environment == environment && app.topic ?? topic == topic
    }
}
