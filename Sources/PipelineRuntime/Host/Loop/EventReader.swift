import JSON
import PipelineKit

/// Turns lines into checked events; what is no JSON object becomes a rejection.
package struct EventReader: ~Copyable {
    private var parser: JSONParser

    /// A log's events may be nested deeper than a producer's lines: stages wrap what they pass on.
    package static var linkLimits: JSONLimits { JSONLimits(depthMax: JSONLimits().depthMax + 8) }

    /// What a door takes.
    package static var doorLimits: JSONLimits {
        JSONLimits(bytesMax: DoorLimits.lineBytesMax, refusesDuplicateKeys: true)
    }

    package init(limits: JSONLimits) { parser = JSONParser(limits: limits) }

    /// The event, which cannot outlive the line; nil where the line was rejected, with the reason.
    ///
    /// Valid until the next is read: the compiler cannot hold that too while `self` has both the reader and the stage
    /// ("overlapping accesses to 'self'").
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

    /// A dead letter keeps no more than this of a line that no one could read.
    private static func excerpt(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: line.prefix(64 << 10))
    }
}
