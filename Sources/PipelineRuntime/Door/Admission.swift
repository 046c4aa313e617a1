import JSON
import PipelineKit

/// What became of one parcel of a producer's lines.
struct Admission {
    /// The producer's last line that is taken or refused for good.
    var through: UInt64
    var accepted = 0
    var refused: [Outbox.Rejected] = []

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
            $0.field("refusals", writeRefusals)
        }
    }

    private func writeRefusals(to buffer: inout ByteBuffer) {
        buffer.append("[")
        for (index, rejected) in refused.prefix(Admission.refusalsMax).enumerated() {
            buffer.append(index == 0 ? "{\"line\":" : ",{\"line\":")
            buffer.appendJSON(rejected.sequence)
            buffer.append(",\"code\":")
            buffer.appendJSON(rejected.rejection.code)
            buffer.append(",\"path\":")
            buffer.appendJSON(rejected.rejection.path)
            buffer.append(",\"reason\":")
            buffer.appendJSON(rejected.rejection.reason)
            buffer.append("}")
        }
        buffer.append("]")
    }
}
