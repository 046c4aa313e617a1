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
                code: "field.invalid",
                reason: value.isString ? "\(key) is empty" : "\(key) must be a string, not \(value.kindName)",
                path: "\(place)\(key)")
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
            throw Rejection(
                code: "field.invalid", reason: "\(key) must be an object, not \(value.kindName)",
                path: "\(place)\(key)")
        }
        return value
    }

    /// The member, which must be true or false; false if it is missing or null.
    func flag(_ key: StaticString, in place: StaticString = "") throws(Rejection) -> Bool {
        guard let value = given(key) else { return false }
        guard let flag = value.bool else {
            throw Rejection(
                code: "field.invalid", reason: "\(key) must be true or false, not \(value.kindName)",
                path: "\(place)\(key)")
        }
        return flag
    }

    func database() throws(Rejection) -> Database { try JSONValue.database(given(.database)) }

    static func database(_ value: JSONValue?) throws(Rejection) -> Database {
        let word = try text(value, "database")
        guard let database = Database(word) else {
            throw Rejection(
                code: "field.invalid",
                reason: "database must be \"public\", \"private\" or \"shared\", not \"\(word.printable)\"",
                path: "database")
        }
        return database
    }

    static func missing(_ path: String) -> Rejection {
        Rejection(code: "field.missing", reason: "\(path) is missing", path: path)
    }

    /// The string for an error message; empty if the value is not a string.
    var printable: String { (string ?? "").printable }

    /// The decoded string; empty if the value is not a string.
    var utf8: [UInt8] { unsafe withUTF8 { unsafe Array($0) } ?? [] }
}
