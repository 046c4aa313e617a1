import Events
import JSON

/// The value of a record's field in a payload, without the `{value, type}` around it.
///
/// As arguments of a localized text, CloudKit allows strings, numbers and dates. As values of desired keys, it also
/// allows locations and references. Dates are milliseconds since 1970, as in CloudKit Web Services. Apple does not
/// document the form of locations and references: Belfry writes objects with the same members as in Web Services.
struct FieldValue {
    private enum Form { case text, number, location, reference }

    private let form: Form
    private let value: JSONValue

    /// Whether the field has a value of any type.
    static func exists(_ name: JSONValue, in fields: JSONValue?) -> Bool {
        guard let value = (name.withUTF8 { fields?.member($0)?["value"] }) ?? nil else { return false }
        return !value.isNull
    }

    /// Nil if the field is missing, null, or of a type that payloads cannot contain. Also nil if the value does not fit
    /// the field's type.
    init?(named name: JSONValue, in fields: JSONValue?) {
        guard let field = name.withUTF8({ fields?.member($0) }) ?? nil else { return nil }
        let members = Members(of: field)
        guard let value = members.value, let form = FieldValue.form(of: value, type: members.type) else { return nil }
        self.form = form
        self.value = value
    }

    /// The members of a field, found in one pass.
    private struct Members {
        private(set) var value: JSONValue?
        private(set) var type: JSONValue?

        @inline(__always)
        init(of field: JSONValue) {
            for (key, member) in field.members {
                if key.equals("value") {
                    value = value ?? member
                } else if key.equals(.type) {
                    type = type ?? member
                }
            }
        }
    }

    /// Whether the value can be an argument of a localized text.
    var isArgument: Bool { form == .text || form == .number }

    /// Writes the value as an argument of a localized text: a string, empty for a location or reference.
    func writeArgument(into buffer: inout ByteBuffer) {
        switch form {
        case .text: buffer.append(shortened: value)
        case .number:
            buffer.append(byte: UInt8(ascii: "\""))
            buffer.append(value.raw)
            buffer.append(byte: UInt8(ascii: "\""))
        case .location, .reference: buffer.append("\"\"")
        }
    }

    func write(into buffer: inout ByteBuffer) {
        switch form {
        case .text: buffer.append(shortened: value)
        case .number: buffer.append(value.raw)
        case .location: writeLocation(into: &buffer)
        case .reference: writeReference(into: &buffer)
        }
    }

    private func writeLocation(into buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("latitude", value["latitude"])
            $0.append("longitude", value["longitude"])
        }
    }

    private func writeReference(into buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("action", text: value["action"])
            $0.append(.recordName, text: value[.recordName])
            guard let zoneID = value[.zoneID], zoneID.isObject else { return }
            $0.append(member: .zoneID)
            $0.object {
                $0.append(.ownerRecordName, text: zoneID[.ownerRecordName])
                $0.append(.zoneName, text: zoneID[.zoneName])
            }
        }
    }

    /// The form that follows from the value alone, because producers may omit the type.
    private static func inferredForm(_ value: JSONValue) -> Form? {
        switch value.kind {
        case .string: .text
        case .number: .number
        case .object where isNumber(value["latitude"]) && isNumber(value["longitude"]): .location
        case .object where value[.recordName]?.isString == true: .reference
        default: nil
        }
    }

    private static func isNumber(_ value: JSONValue?) -> Bool { value?.isNumber == true }

    private static func form(of value: JSONValue, type: JSONValue?) -> Form? {
        guard let form = inferredForm(value) else { return nil }
        guard let type, !type.isNull else { return form }
        let isOfType =
            switch form {
            case .text: type.equals("STRING")
            case .number:
                type.equals("INT64") || type.equals("DOUBLE") || type.equals("TIMESTAMP")
                    || type.equals("NUMBER_INT64")
            case .location: type.equals("LOCATION")
            case .reference: type.equals("REFERENCE")
            }
        return isOfType ? form : nil
    }
}
