import Events
import JSON

/// Checks dictionaries of fields: `{"title": {"value": "Hi", "type": "STRING"}}`.
package enum Fields {
    /// - Parameter allowsNull: Whether a value may be null, which removes the field.
    /// - Throws: `member.kind`, `member.missing`, `member.conflict`, `name.*`, `word.unknown` or `field.value`. The
    ///   error's path is relative to `json`.
    @inline(__always)
    package static func check(_ json: JSONValue, allowsNull: Bool = false) throws(ModelError) {
        try json.expectObject("a dictionary of fields")
        for (name, field) in json.members {
            do {
                try NameRule.fieldName.check(name)
                try check(field: field, allowsNull: allowsNull)
            } catch { throw error.under(name.string?.excerpt ?? "") }
        }
    }

    @inline(__always)
    private static func check(field: JSONValue, allowsNull: Bool) throws(ModelError) {
        guard field.isObject else { throw field.kindError("a field must be an object {\"value\": …, \"type\": …}") }
        guard let value = field["value"] else {
            throw ModelError.missing("value", "is required: if a field has no value, leave the field out")
        }
        if allowsNull, value.isNull { return }
        guard let word = field[.type] else {
            return try under("value") { () throws(ModelError) in try checkUntyped(value) }
        }
        let type = try under(.type) { () throws(ModelError) in try FieldType(word) }
        do { try check(value, fits: type) } catch { throw error.under("value") }
    }

    @inline(__always)
    private static func check(_ value: JSONValue, fits type: FieldType) throws(ModelError) {
        guard type.isList else { return try check(value, fits: type.base) }
        guard value.isArray else { throw misfit("a value of a list type must be an array", value, expected: .array) }
        if type.base == .unknown { return try checkUntypedList(value) }
        var index = 0
        for element in value.elements {
            do { try check(element, fits: type.base) } catch { throw error.under("[\(index)]") }
            index += 1
        }
    }

    @inline(__always)
    private static func check(_ value: JSONValue, fits base: FieldType.Base) throws(ModelError) {
        switch base {
        case .string:
            guard value.isString else { throw misfit("a STRING must be a JSON string", value, expected: .string) }
        case .int64: guard value.int64 != nil else { throw misfit(int64Rule, value, expected: .number) }
        case .double: guard value.double != nil else { throw misfit(doubleRule, value, expected: .number) }
        case .timestamp: guard value.double != nil else { throw misfit(timestampRule, value, expected: .number) }
        case .bytes:
            guard value.withText(Base64.isValid) == true else { throw misfit(bytesRule, value, expected: .string) }
        case .location: try Location.check(value)
        case .reference: try Reference.check(value)
        case .asset: guard value.isObject else { throw misfit(assetRule, value, expected: .object) }
        case .unknown: try checkUntyped(value)
        }
    }

    /// Checks the value of a field that names no type, or an element of a list without a type or of an `UNKNOWN_LIST`.
    /// The value must fit at least one of CloudKit's types.
    private static func checkUntyped(_ value: JSONValue) throws(ModelError) {
        switch value.kind {
        case .string: return
        case .object: if Reference.isReference(value) { try Reference.check(value) }
        case .number: guard value.double != nil else { throw misfit("the number is too large for a double") }
        case .array: try checkUntypedList(value)
        case .true, .false: throw misfit("CloudKit has no Boolean type: write 1 or 0 as INT64")
        case .null: throw misfit("null is not a value: leave the field out of the record")
        }
    }

    private static func checkUntypedList(_ list: JSONValue) throws(ModelError) {
        var (index, first) = (0, JSONValue.Kind.null)
        for element in list.elements {
            try under(element: index) { () throws(ModelError) in
                guard !element.isArray else { throw misfit("a list cannot contain lists") }
                guard index == 0 || element.kind == first else {
                    throw misfit("the elements of a list must have one type")
                }
                try checkUntyped(element)
            }
            (index, first) = (index + 1, element.kind)
        }
    }

    @inline(never)
    static func misfit(_ rule: String) -> ModelError { ModelError("field.value", rule) }

    /// The rule, followed by the kind of the value if the rule expects another kind.
    @inline(never)
    static func misfit(_ rule: String, _ value: JSONValue, expected kind: JSONValue.Kind) -> ModelError {
        misfit(value.kind == kind ? rule : "\(rule), but this is \(value.kindName)")
    }

    private static var int64Rule: String {
        "an INT64 must be a whole number from \(Int64.min) to \(Int64.max), written without fraction or exponent"
    }
    private static var doubleRule: String { "a DOUBLE must be a number in the range of a double" }
    private static var timestampRule: String { "a TIMESTAMP must be a number of milliseconds since 1970" }
    private static var bytesRule: String { "BYTES must be a string in base64 (RFC 4648, section 4) with its padding" }
    private static var assetRule: String { "an ASSETID must be an object that describes the asset" }
}

/// Checks the value of a field of type LOCATION: `{"latitude": 52.5, "longitude": 13.4, …}`.
package enum Location {
    private static let optionalNumbers: [StaticString] = [
        "horizontalAccuracy", "verticalAccuracy", "altitude", "speed", "course", "timestamp",
    ]

    package static func check(_ value: JSONValue) throws(ModelError) {
        guard value.isObject else {
            throw Fields.misfit("a LOCATION must be an object with latitude and longitude", value, expected: .object)
        }
        try check("latitude", of: value, in: CloudKitLimits.latitudeRange)
        try check("longitude", of: value, in: CloudKitLimits.longitudeRange)
        for key in optionalNumbers {
            guard let other = value[key] else { continue }
            guard other.double != nil else {
                throw Fields.misfit("\(key) must be a number", other, expected: .number).under("\(key)")
            }
        }
    }

    private static func check(
        _ key: StaticString, of value: JSONValue, in range: ClosedRange<Double>
    ) throws(ModelError) {
        let degrees = try value.required(key)
        guard let number = degrees.double, range.contains(number) else {
            let rule = "\(key) must be a number of degrees from \(Int(range.lowerBound)) to \(Int(range.upperBound))"
            throw Fields.misfit(rule, degrees, expected: .number).under("\(key)")
        }
    }
}
