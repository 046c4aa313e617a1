import JSON
import PipelineKit

/// Parses and checks lines; a line that is not a JSON object becomes a rejection.
package struct EventReader: ~Copyable {
    private var parser: JSONParser

    /// Events in a log may be nested deeper than a producer's lines, because stages wrap the events they pass on.
    package static var linkLimits: JSONLimits { JSONLimits(depthMax: JSONLimits().depthMax + 8) }

    /// Limits of the lines that a door accepts.
    package static var doorLimits: JSONLimits {
        JSONLimits(bytesMax: DoorLimits.lineBytesMax, refusesDuplicateKeys: true)
    }

    package init(limits: JSONLimits) { parser = JSONParser(limits: limits) }

    /// The event; nil where the line was rejected.
    ///
    /// The event is valid until the next call. The compiler cannot check this, because a host's `self` owns both the
    /// reader and the stage ("overlapping accesses to 'self'").
    @_lifetime(borrow line)
    @inline(__always)
    package mutating func read(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, into out: inout Outbox
    ) -> InputEvent? {
        do throws(JSONError) {
            let json = try parser.parse(line)
            if json.isObject { return InputEvent(sequence: sequence, json: json, line: line) }
            EventReader.refuseKind(line, sequence, into: &out)
        } catch {
            out.reject(
                sequence: sequence, line: EventReader.excerpt(line), Rejection(code: error.code, reason: "\(error)"))
        }
        return nil
    }

    private static func refuseKind(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, into out: inout Outbox) {
        let rejection = Rejection(
            code: "json.not_object", reason: "a line must be one JSON object, like {\"type\":...}")
        out.reject(sequence: sequence, line: excerpt(line), rejection)
    }

    /// The part of an unreadable line that a dead letter keeps.
    private static func excerpt(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: line.prefix(64 << 10))
    }
}
