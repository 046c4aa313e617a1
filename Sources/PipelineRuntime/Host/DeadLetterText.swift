import Events
import JSON
import PipelineKit

extension Outbox.Rejected {
    /// Writes the event of the dead letters' log that keeps it, with its line feed.
    ///
    /// - Parameters:
    ///   - stage: The stage's name in the pipeline file.
    ///   - log: The log that the rejected event comes from.
    package func write(ofStage stage: String, log: String, to lines: inout ByteBuffer) {
        lines.begin(event: EventName.deadLetter)
        lines.append(member: .stage)
        lines.appendJSON(stage)
        lines.append(member: .log)
        lines.appendJSON(log)
        lines.append(member: .sequence)
        lines.appendJSON(sequence)
        lines.append(member: .code)
        lines.appendJSON(rejection.code)
        lines.append(member: .path)
        lines.appendJSON(rejection.path)
        lines.append(member: .reason)
        lines.appendJSON(rejection.reason)
        lines.append(member: .event)
        lines.appendJSON(String(decoding: line, as: UTF8.self))
        lines.append("}\n")
    }
}
