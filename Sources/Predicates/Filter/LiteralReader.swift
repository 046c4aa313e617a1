import CloudKitModel
import JSON

/// A value in JSON, from a filter's `fieldValue` or the arguments of a predicate's text.
enum Literal {
    case value(FieldValue)
    case list([FieldValue])
    case location(Coordinate)
    /// JSON's null.
    case nothing
}

/// Reads `{"value":…,"type":…}`. The type is optional.
enum LiteralReader {
    /// - Throws: A ``PredicateError`` with the path of the wrong member, or with `path` if there is no `value`.
    static func literal(fieldValue: JSONValue, path: @autoclosure () -> String) throws(PredicateError) -> Literal {
        for (key, _) in fieldValue.members where !key.equals("value") && !key.equals("type") {
            throw PredicateError.unknownKey(key, in: path(), known: ["value", "type"])
        }
        guard let value = fieldValue["value"] else {
            throw PredicateError(
                code: "predicate.missing", path: path(), reason: "a filter needs a value: {\"value\":…,\"type\":…}")
        }
        let type = try type(fieldValue, path: path())
        return try at(path() + ".value") { () throws(BrokenRule) in try literal(value, type) }
    }

    /// - Parameter type: One of ``known``, with `_LIST` for a list; nil if the input names no type.
    static func literal(_ value: JSONValue, _ type: String? = nil) throws(BrokenRule) -> Literal {
        if value.isNull { return .nothing }
        guard value.isArray else { return try scalar(value, type) }
        guard type == nil || type?.strippingList != type else {
            throw BrokenRule("the value is not of type \(type ?? "")")
        }
        guard value.count <= PredicateLimits.valuesMax else {
            throw BrokenRule(
                "\(value.count) values, over the limit of \(PredicateLimits.valuesMax)", code: "predicate.limit")
        }
        var values: [FieldValue] = []
        values.reserveCapacity(value.count)
        for element in value.elements {
            guard case .value(let value) = try scalar(element, type?.strippingList) else {
                throw BrokenRule("a list can only contain strings, numbers, timestamps, references or bytes")
            }
            values.append(value)
        }
        return .list(values)
    }

    /// Runs a check and adds `path` to its error.
    static func at<Result>(
        _ path: @autoclosure () -> String, _ check: () throws(BrokenRule) -> Result
    ) throws(PredicateError) -> Result {
        do { return try check() } catch { throw PredicateError(code: error.code, path: path(), reason: error.reason) }
    }

    private static func type(_ fieldValue: JSONValue, path: @autoclosure () -> String) throws(PredicateError) -> String?
    {
        guard let type = fieldValue["type"] else { return nil }
        guard let name = type.string else {
            throw PredicateError(
                code: "predicate.type", path: path() + ".type",
                reason: "a type must be a string, but this is \(type.kindName)")
        }
        guard known.contains(name.strippingList) else {
            throw PredicateError(
                code: "predicate.type", path: path() + ".type",
                reason: "\"\(name.prefix(64))\" is not a type: use one of \(known.joined(separator: ", "))")
        }
        return name
    }

    private static let known = [
        "STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE", "BYTES", "LOCATION", "ASSET", "ASSETID",
        "NUMBER_INT64", "ENCRYPTED_BYTES", "UNKNOWN",
    ]
}

// MARK: - Scalars

extension LiteralReader {
    private static func scalar(_ value: JSONValue, _ type: String?) throws(BrokenRule) -> Literal {
        switch FieldView(scalar: value) {
        case .text(let text): return .value(try self.text(text.withUTF8 { Array($0) } ?? [], type))
        case .integer(let number):
            try expect(type, ["INT64", "NUMBER_INT64", "DOUBLE", "TIMESTAMP"])
            return .value(.integer(number))
        case .double(let number):
            try expect(type, ["DOUBLE", "TIMESTAMP"])
            return .value(.double(number))
        case .reference(let name):
            try expect(type, ["REFERENCE"])
            return .value(.reference(name.withUTF8 { Array($0) } ?? []))
        case .object(let object): return .location(try location(object, type))
        case .list, .nothing: throw incomparable
        }
    }

    private static func text(_ bytes: [UInt8], _ type: String?) throws(BrokenRule) -> FieldValue {
        if type == "TIMESTAMP", bytes == now { return .now }
        guard type == "BYTES" || type == "ENCRYPTED_BYTES" else {
            try expect(type, ["STRING"])
            return .text(bytes)
        }
        guard bytes.withUnsafeBytes(Base64.isValid) else {
            throw BrokenRule("a value of type BYTES must be a string in base64 (RFC 4648, section 4) with its padding")
        }
        return .bytes(bytes)
    }

    /// The only string that may have the type `TIMESTAMP`.
    static let now = Array("now()".utf8)

    private static func location(_ object: JSONValue, _ type: String?) throws(BrokenRule) -> Coordinate {
        if type == "ASSET" || type == "ASSETID" {
            throw BrokenRule(
                "assets cannot be compared: to find records with an asset, use field != nil "
                    + "(NOT_EQUALS null in filterBy)")
        }
        guard object["latitude"] != nil || object["longitude"] != nil || type == "LOCATION" else { throw incomparable }
        try expect(type, ["LOCATION"])
        guard let coordinate = Coordinate(object) else {
            throw BrokenRule("a location must have a latitude from -90 to 90 and a longitude from -180 to 180")
        }
        return coordinate
    }

    private static func expect(_ type: String?, _ fitting: [String]) throws(BrokenRule) {
        guard let type, !fitting.contains(type), type != "UNKNOWN" else { return }
        throw BrokenRule("the value is not of type \(type)")
    }

    private static var incomparable: BrokenRule {
        BrokenRule("only strings, numbers, timestamps, references, bytes and distances of locations can be compared")
    }
}

extension String {
    /// The type of the elements if this is the type of a list, otherwise this type.
    fileprivate var strippingList: String { hasSuffix("_LIST") ? String(dropLast("_LIST".count)) : self }
}
