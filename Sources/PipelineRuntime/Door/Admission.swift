import JSON
import PipelineKit

/// What became of one parcel of a producer's lines.
struct Admission {
    /// A subscription that a line saved, and the sequence of the event that says so.
    struct Saved {
        let line: UInt64
        let sequence: UInt64
        let subscription: SavedSubscription
    }

    /// The producer's last line that is taken or refused for good.
    var through: UInt64
    /// Lines; one may make several events.
    var accepted = 0
    var refused: [Outbox.Rejected] = []
    private(set) var saved: [Saved] = []
    private(set) var warnings = 0

    init(through: UInt64) { self.through = through }

    /// Warnings that one answer spells out; the rest are counted.
    private static let warningsMax = 1_000

    /// - Parameter sequence: That of the line's last event.
    @inline(__always)
    mutating func take(_ subscriptions: [SavedSubscription], of line: UInt64, at sequence: UInt64) {
        for subscription in subscriptions { take(subscription, of: line, at: sequence) }
    }

    private mutating func take(_ subscription: SavedSubscription, of line: UInt64, at sequence: UInt64) {
        var subscription = subscription
        warnings += subscription.warnings.count
        if warnings > Admission.warningsMax { subscription.warnings = [] }
        saved.append(Saved(line: line, sequence: sequence, subscription: subscription))
    }
}
