import Events
import JSON

/// The fields of a record after an operation. A field with the value null is removed.
struct FieldMerge {
    /// The operation's fields.
    let given: JSONValue?
    /// The existing record, whose other fields keep their values. Nil if the operation replaces all fields, or if the
    /// record is new.
    let known: RecordContents?

    /// Writes the known fields in their order, with the operation's values where the operation names them. Then writes
    /// the operation's other fields.
    func write(into buffer: inout ByteBuffer) {
        buffer.object { buffer in
            guard let known else { return FieldMerge.write(given, into: &buffer) { _ in true } }
            var replacements: [[UInt8]: JSONValue] = [:]
            if let given { for (key, field) in given.members { replacements[FieldMerge.name(key)] = field } }
            known.fields.withUnsafeBytes { FieldMerge.write($0, replacedBy: &replacements, into: &buffer) }
            FieldMerge.write(given, into: &buffer) { replacements[FieldMerge.name($0)] != nil }
        }
    }

    /// Writes each known field or its replacement. Removes the replacements of known fields from `replacements`.
    private static func write(
        _ known: UnsafeRawBufferPointer, replacedBy replacements: inout [[UInt8]: JSONValue],
        into buffer: inout ByteBuffer
    ) {
        var parser = JSONParser()
        do throws(JSONError) {
            for (key, field) in try parser.parse(known).members {
                write(key, replacements.removeValue(forKey: name(key)) ?? field, into: &buffer)
            }
        } catch { preconditionFailure("the fields of a record that was saved cannot be read: \(error)") }
    }

    private static func write(
        _ fields: JSONValue?, into buffer: inout ByteBuffer, where isWanted: (JSONValue) -> Bool
    ) {
        guard let fields else { return }
        for (key, field) in fields.members where isWanted(key) { write(key, field, into: &buffer) }
    }

    private static func write(_ key: JSONValue, _ field: JSONValue, into buffer: inout ByteBuffer) {
        guard field[.value]?.isNull != true else { return }
        buffer.appendSeparator()
        buffer.append(key.raw)
        buffer.append(":")
        buffer.append(field.raw)
    }

    private static func name(_ key: JSONValue) -> [UInt8] { key.withText { Array($0) } ?? [] }
}
