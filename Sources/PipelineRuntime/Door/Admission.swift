import Events
import JSON
import PipelineKit

/// Which lines of one frame from a producer were accepted, and which were refused.
struct Admission {
    /// A subscription that a line saved, with the sequence of the event that saved it.
    struct Saved {
        let line: UInt64
        let sequence: UInt64
        let subscription: SavedSubscription
    }

    /// The producer's last line that was accepted or refused.
    var through: UInt64
    /// How many lines were accepted. One line may become several events.
    var accepted = 0
    var refused: [Outbox.Rejected] = []
    private(set) var saved: [Saved] = []
    private(set) var warnings = 0

    init(through: UInt64) { self.through = through }

    /// The most warnings that one answer lists; the others are only counted.
    private static let warningsMax = 1_000

    /// - Parameter sequence: The sequence of the line's last event.
    @inline(__always)
    mutating func add(_ subscriptions: [SavedSubscription], savedByLine line: UInt64, at sequence: UInt64) {
        for subscription in subscriptions { add(subscription, savedByLine: line, at: sequence) }
    }

    private mutating func add(_ subscription: SavedSubscription, savedByLine line: UInt64, at sequence: UInt64) {
        var subscription = subscription
        warnings += subscription.warnings.count
        if warnings > Admission.warningsMax { subscription.warnings = [] }
        saved.append(Saved(line: line, sequence: sequence, subscription: subscription))
    }
}

extension Admission {
    /// The most refusals that one answer lists; the others are only counted.
    private static let refusalsMax = 1_000

    /// - Parameter last: The log's last sequence, including the events of these lines.
    func answer(to producer: String, last: UInt64) -> [UInt8] {
        LinkFrame.frame("answer") {
            $0.append("producer", producer)
            $0.append("through", through)
            $0.append("accepted", accepted)
            $0.append("last", last)
            $0.append("refused", refused.count)
            $0.append("refusals", refused.prefix(Admission.refusalsMax)) { $0.write($1) }
            guard !saved.isEmpty else { return }
            $0.append("warnings", warnings)
            $0.append("saved", saved) { $0.write($1) }
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func write(_ rejected: Outbox.Rejected) {
        append("{")
        append("line", rejected.sequence)
        append(.code, rejected.rejection.code)
        append(.path, rejected.rejection.path)
        append(.reason, rejected.rejection.reason)
        append("}")
    }

    fileprivate mutating func write(_ saved: Admission.Saved) {
        append("{")
        append("line", saved.line)
        append(.subscriptionID, saved.subscription.subscriptionID)
        append("activeFrom", saved.sequence)
        append("warnings", saved.subscription.warnings) { $0.write($1) }
        append("}")
    }

    fileprivate mutating func write(_ warning: SavedSubscription.Warning) {
        append("{")
        append("code", warning.code)
        append(.path, warning.path)
        append("offset", warning.offset)
        append(.reason, warning.reason)
        append("}")
    }
}
