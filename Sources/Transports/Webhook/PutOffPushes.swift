import EventLog
import PipelineKit

/// Pushes that were put off before they went out once, in the order of their devices: no later one goes out before them.
///
/// A push keeps its place until it is handed out again, a newer one of its collapse ID comes, which takes it, or it is
/// long overdue: it became stale, or its device is gone.
struct PutOffPushes {
    /// How long after its time a push is still waited for.
    static let lateness = Duration.seconds(10)

    private struct Place {
        let id: Delivery.ID
        let collapseID: String?
        let until: Instant

        func isReplaced(by push: WebhookPush) -> Bool {
            guard let collapseID, let newer = push.collapseID else { return false }
            return id.push < push.delivery.id.push && collapseID.utf8.elementsEqual(newer.utf8)
        }

        func isKept(at now: Instant) -> Bool { now < until.advanced(by: PutOffPushes.lateness) }
    }

    private var lanes: [[String]: [Place]] = [:]
    private var nextSweep = Instant.epoch

    /// A push that was tried already has no place.
    mutating func append(_ push: WebhookPush, until: Instant) {
        guard push.delivery.attempts == 0 else { return }
        lanes[push.lane, default: []].append(Place(id: push.delivery.id, collapseID: push.collapseID, until: until))
    }

    /// The push is handed out.
    mutating func remove(_ push: WebhookPush) {
        guard !lanes.isEmpty, var places = lanes[push.lane] else { return }
        places.removeAll { $0.id == push.delivery.id || $0.isReplaced(by: push) }
        lanes[push.lane] = places.isEmpty ? nil : places
    }

    /// When the first push that must go out before this one is handed out again; nil where there is none.
    func turn(before push: WebhookPush, at now: Instant) -> Instant? {
        guard !lanes.isEmpty, let places = lanes[push.lane] else { return nil }
        return places.first { $0.id.push < push.delivery.id.push && $0.isKept(at: now) }?.until
    }

    /// Forgets those that nobody asks about.
    mutating func sweep(at now: Instant) {
        guard !lanes.isEmpty, now >= nextSweep else { return }
        nextSweep = now.advanced(by: Self.lateness)
        lanes = lanes.compactMapValues { places in
            let kept = places.filter { $0.isKept(at: now) }
            return kept.isEmpty ? nil : kept
        }
    }
}
