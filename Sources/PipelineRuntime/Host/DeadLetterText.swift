import JSON
import PipelineKit

extension Outbox.Rejected {
    /// Writes the event of the dead letters' log that keeps it, with its line feed.
    ///
    /// - Parameters:
    ///   - stage: The stage's name in the pipeline file.
    ///   - log: The log that the rejected event comes from.
    package func write(ofStage stage: String, log: String, to lines: inout ByteBuffer) {
        lines.append("{\"type\":\"dead_letter\",\"stage\":")
        lines.appendJSON(stage)
        lines.append(",\"log\":")
        lines.appendJSON(log)
        lines.append(",\"sequence\":")
        lines.appendJSON(sequence)
        lines.append(",\"code\":")
        lines.appendJSON(rejection.code)
        lines.append(",\"path\":")
        lines.appendJSON(rejection.path)
        lines.append(",\"reason\":")
        lines.appendJSON(rejection.reason)
        lines.append(",\"event\":")
        lines.appendJSON(String(decoding: line, as: UTF8.self))
        lines.append("}\n")
    }
}
