import Events
import JSON
import PipelineKit

/// Parses and checks lines; a line that is not a JSON object becomes a rejection.
package struct EventReader: ~Copyable {
    private var parser: JSONParser
    /// A longer line must be a `records.modify`.
    private let shortBytesMax: Int

    /// Events in a log may be nested deeper than a producer's lines, because stages wrap the events they pass on.
    package static var linkLimits: JSONLimits { JSONLimits(depthMax: JSONLimits().depthMax + 8) }

    package init(limits: JSONLimits) { self.init(limits, shortBytesMax: limits.bytesMax) }

    /// A reader of the lines that a door accepts.
    package static func atDoor() -> EventReader {
        EventReader(
            JSONLimits(bytesMax: DoorLimits.modifyBytesMax, refusesDuplicateKeys: true),
            shortBytesMax: DoorLimits.lineBytesMax)
    }

    private init(_ limits: JSONLimits, shortBytesMax: Int) {
        parser = JSONParser(limits: limits)
        self.shortBytesMax = shortBytesMax
    }

    /// The event; nil if the line was rejected.
    ///
    /// The event is valid until the next call. The compiler does not check this. If the event borrowed the reader, a
    /// host could not pass it to its stage, because the host's `self` owns both ("overlapping accesses to 'self'").
    @_lifetime(borrow line)
    @inline(__always)
    package mutating func read(
        _ line: UnsafeRawBufferPointer, sequence: UInt64, into out: inout Outbox
    ) -> InputEvent? {
        do throws(JSONError) {
            let json = try parse(line)
            if json.isObject { return InputEvent(sequence: sequence, json: json, line: line) }
            EventReader.rejectNonObject(line, sequence, into: &out)
        } catch {
            out.reject(
                sequence: sequence, line: EventReader.excerpt(line), Rejection(code: error.code, reason: "\(error)"))
        }
        return nil
    }

    @inline(__always)
    private mutating func parse(_ line: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        line.count <= shortBytesMax ? try parser.parse(line) : try parseLong(line)
    }

    private mutating func parseLong(_ line: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        let tooLong = JSONError(.tooLong(bytes: line.count, limit: shortBytesMax), at: shortBytesMax)
        let json: JSONValue
        do { json = try parser.parse(line) } catch {
            throw EventReader.mayBeLong(line) ? error : tooLong
        }
        guard json[.type]?.equals(CommandName.recordsModify) ?? false else { throw tooLong }
        return json
    }

    /// Whether the beginning of an unreadable line says that it is a `records.modify`.
    private static func mayBeLong(_ line: UnsafeRawBufferPointer) -> Bool {
        String(decoding: line.prefix(64), as: UTF8.self).contains("\"\(CommandName.recordsModify)\"")
    }

    private static func rejectNonObject(_ line: UnsafeRawBufferPointer, _ sequence: UInt64, into out: inout Outbox) {
        let rejection = Rejection(
            code: "json.not_object", reason: "a line must be one JSON object, like {\"type\":...}")
        out.reject(sequence: sequence, line: excerpt(line), rejection)
    }

    /// The part that a dead letter keeps of a line that is not a JSON object.
    private static func excerpt(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: line.prefix(64 << 10))
    }
}
