import Events
import JSON
import PipelineKit

extension Admission {
    /// Refusals that one answer spells out; the rest are counted.
    private static let refusalsMax = 1_000

    /// - Parameter last: Last sequence of the log, with what this parcel adds.
    func answer(to producer: String, last: UInt64) -> [UInt8] {
        LinkFrame.frame("answer") {
            $0.field("producer", producer)
            $0.field("through", through)
            $0.field("accepted", accepted)
            $0.field("last", last)
            $0.field("refused", refused.count)
            $0.field("refusals") { $0.list(refused.prefix(Admission.refusalsMax)) { $0.write($1) } }
            guard !saved.isEmpty else { return }
            $0.field("warnings", warnings)
            $0.field("saved") { $0.list(saved) { $0.write($1) } }
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func list<Element>(
        _ elements: some Sequence<Element>, _ write: (inout ByteBuffer, Element) -> Void
    ) {
        append("[")
        var isFirst = true
        for element in elements {
            if !isFirst { append(",") }
            isFirst = false
            write(&self, element)
        }
        append("]")
    }

    fileprivate mutating func write(_ rejected: Outbox.Rejected) {
        append("{\"line\":")
        appendJSON(rejected.sequence)
        append(member: .code)
        appendJSON(rejected.rejection.code)
        append(member: .path)
        appendJSON(rejected.rejection.path)
        append(member: .reason)
        appendJSON(rejected.rejection.reason)
        append("}")
    }

    fileprivate mutating func write(_ saved: Admission.Saved) {
        append("{\"line\":")
        appendJSON(saved.line)
        append(member: .subscriptionID)
        appendJSON(saved.subscription.subscriptionID)
        append(",\"activeFrom\":")
        appendJSON(saved.sequence)
        append(",\"warnings\":")
        list(saved.subscription.warnings) { $0.write($1) }
        append("}")
    }

    fileprivate mutating func write(_ warning: SavedSubscription.Warning) {
        append("{\"code\":")
        appendJSON(warning.code)
        append(member: .path)
        appendJSON(warning.path)
        if let offset = warning.offset {
            append(",\"offset\":")
            appendJSON(offset)
        }
        append(member: .reason)
        appendJSON(warning.reason)
        append("}")
    }
}
