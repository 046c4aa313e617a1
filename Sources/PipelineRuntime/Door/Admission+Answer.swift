import Events
import JSON
import PipelineKit

extension Admission {
    /// Refusals that one answer spells out; the rest are counted.
    private static let refusalsMax = 1_000

    /// - Parameter last: Last sequence of the log, with what this parcel adds.
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
