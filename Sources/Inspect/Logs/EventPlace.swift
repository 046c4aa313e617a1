import Events
import JSON
import StageTool

/// The log and sequence of an event; users write it as `changes:17`.
package struct EventPlace: Hashable, Sendable, CustomStringConvertible {
    package var log: String
    package var sequence: UInt64

    package init(log: String, sequence: UInt64) { (self.log, self.sequence) = (log, sequence) }

    package var description: String { "\(log):\(sequence)" }
}

extension EventPlace {
    /// Nil if the value is not an object with `log` and `sequence`.
    init?(_ json: JSONValue) {
        guard let log = json[.log]?.string, let sequence = json[.sequence]?.sequence else { return nil }
        self.init(log: log, sequence: sequence)
    }

    package var json: String {
        ByteBuffer.object {
            $0.append("log", log)
            $0.append("sequence", sequence)
        }.text
    }
}
