import Events
import JSON
import PipelineKit

extension Outbox.Rejected {
    /// Writes a `dead_letter` event, which contains the rejected event, and then a line feed.
    ///
    /// - Parameter log: The log that the rejected event comes from.
    package func write(ofStage stage: String, log: String, to lines: inout ByteBuffer) {
        lines.begin(event: EventName.deadLetter)
        lines.append(.stage, stage)
        lines.append(.log, log)
        lines.append(.sequence, sequence)
        lines.append(.code, rejection.code)
        lines.append(.path, rejection.path)
        lines.append(.reason, rejection.reason)
        lines.append(.event, String(decoding: line, as: UTF8.self))
        lines.append("}\n")
    }
}
