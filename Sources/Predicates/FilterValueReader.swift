import JSON

/// Reads `fieldValue` of a filter: `{"value":…,"type":…}`, the type optional.
enum FilterValueReader {
    static func values(
        _ fieldValue: JSONValue?, for comparator: Clause.Comparator, path: String
    ) throws(PredicateError) -> [FieldValue] {
        guard let fieldValue, fieldValue.isObject, let value = fieldValue["value"] else {
            throw PredicateError(
                code: "predicate.missing", path: path, reason: "a filter compares with {\"value\":…,\"type\":…}")
        }
        let type = try type(fieldValue, path: path)
        guard comparator.takesList else {
            return [try scalar(value, type, for: comparator, path: path)]
        }
        return try list(value, type?.strippingList, for: comparator, path: path)
    }

    private static func list(
        _ value: JSONValue, _ type: String?, for comparator: Clause.Comparator, path: String
    ) throws(PredicateError) -> [FieldValue] {
        guard value.isArray else {
            throw PredicateError(
                code: "predicate.type", path: path + ".value", reason: "this comparator takes an array of values")
        }
        guard value.count <= PredicateLimits.valuesMax else {
            throw PredicateError(
                code: "predicate.limit", path: path + ".value",
                reason: "\(value.count) values, over the limit of \(PredicateLimits.valuesMax)")
        }
        var values: [FieldValue] = []
        values.reserveCapacity(value.count)
        for element in value.elements { values.append(try scalar(element, type, for: comparator, path: path)) }
        return values
    }

    private static func type(_ fieldValue: JSONValue, path: String) throws(PredicateError) -> String? {
        guard let type = fieldValue["type"] else { return nil }
        guard let name = type.string, known.contains(name.strippingList) else {
            throw PredicateError(
                code: "predicate.type", path: path + ".type",
                reason: "a type is one of \(known.joined(separator: ", "))")
        }
        return name
    }

    private static let known = [
        "STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE", "BYTES", "LOCATION", "ASSET", "ASSETID",
        "NUMBER_INT64", "ENCRYPTED_BYTES", "UNKNOWN",
    ]

    private static func scalar(
        _ value: JSONValue, _ type: String?, for comparator: Clause.Comparator, path: String
    ) throws(PredicateError) -> FieldValue {
        let field = try scalar(value, path: path)
        if let type, !field.isOf(type) {
            throw PredicateError(
                code: "predicate.type", path: path + ".value", reason: "the value is not of its type, \(type)")
        }
        if comparator.isPrefix, !field.isText {
            throw PredicateError(
                code: "predicate.type", path: path + ".value", reason: "only strings begin with something")
        }
        if comparator.isOrdering, case .reference = field {
            throw PredicateError(
                code: "predicate.type", path: path + ".value", reason: "references have no order: use EQUALS or IN")
        }
        return field
    }

    private static func scalar(_ value: JSONValue, path: String) throws(PredicateError) -> FieldValue {
        switch FieldView(scalar: value) {
        case .text(let text): return .text(text.withUTF8 { Array($0) } ?? [])
        case .integer(let number): return .integer(number)
        case .double(let number): return .double(number)
        case .reference(let name): return .reference(name.withUTF8 { Array($0) } ?? [])
        case .list, .nothing:
            throw PredicateError(
                code: "predicate.type", path: path + ".value",
                reason: "only strings, numbers, timestamps, references and bytes are compared")
        }
    }
}

extension FieldValue {
    var isText: Bool {
        if case .text = self { true } else { false }
    }

    /// Whether a value of that CloudKit type may look like this.
    fileprivate func isOf(_ type: String) -> Bool {
        switch self {
        case .text: ["STRING", "BYTES", "ENCRYPTED_BYTES"].contains(type)
        case .integer: ["INT64", "NUMBER_INT64", "DOUBLE", "TIMESTAMP"].contains(type)
        case .double: ["DOUBLE", "TIMESTAMP"].contains(type)
        case .reference: type == "REFERENCE"
        }
    }
}

extension String {
    /// The type of a list's elements; the type itself when it is no list's.
    fileprivate var strippingList: String { hasSuffix("_LIST") ? String(dropLast("_LIST".count)) : self }
}
