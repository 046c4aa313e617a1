import Events
import JSON
import PipelineKit

extension JSONValue {
    /// The member, unless it is missing or null.
    @inline(__always)
    func given(_ key: StaticString) -> JSONValue? {
        guard let value = self[key], !value.isNull else { return nil }
        return value
    }

    /// The member, which must be a string that is not empty.
    ///
    /// - Parameter place: The path of this object with a dot at its end; empty for the event itself.
    @inline(__always)
    func text(_ key: StaticString, in place: StaticString = "") throws(Rejection) -> JSONValue {
        try JSONValue.text(given(key), key, in: place)
    }

    /// - Parameter value: The member; nil if it is missing or null.
    @inline(__always)
    static func text(
        _ value: JSONValue?, _ key: StaticString, in place: StaticString = ""
    ) throws(Rejection) -> JSONValue {
        guard let value else { throw missing("\(place)\(key)") }
        guard value.isString, unsafe value.raw.count > 2 else {
            throw Rejection(
                code: "field.invalid", reason: "\(key) must be a string that is not empty", path: "\(place)\(key)")
        }
        return value
    }

    func object(_ key: StaticString, in place: StaticString = "") throws(Rejection) -> JSONValue {
        try JSONValue.object(given(key), key, in: place)
    }

    static func object(
        _ value: JSONValue?, _ key: StaticString, in place: StaticString = ""
    ) throws(Rejection) -> JSONValue {
        guard let value else { throw missing("\(place)\(key)") }
        guard value.isObject else {
            throw Rejection(code: "field.invalid", reason: "\(key) must be an object", path: "\(place)\(key)")
        }
        return value
    }

    /// The member, which must be true or false; false if it is missing.
    func flag(_ key: StaticString, in place: StaticString = "") throws(Rejection) -> Bool {
        guard let value = given(key) else { return false }
        guard let flag = value.bool else {
            throw Rejection(code: "field.invalid", reason: "\(key) must be true or false", path: "\(place)\(key)")
        }
        return flag
    }

    func database() throws(Rejection) -> Database { try JSONValue.database(given(.database)) }

    static func database(_ value: JSONValue?) throws(Rejection) -> Database {
        guard let database = Database(try text(value, "database")) else {
            throw Rejection(
                code: "field.invalid", reason: "a database is \"public\", \"private\" or \"shared\"", path: "database")
        }
        return database
    }

    static func missing(_ path: String) -> Rejection {
        Rejection(code: "field.missing", reason: "\(path) is missing", path: path)
    }

    /// The decoded text; empty if this is not a string.
    var utf8: [UInt8] { unsafe withUTF8 { unsafe Array($0) } ?? [] }
}
