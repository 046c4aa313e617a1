import JSON
import PipelineKit

extension MemberFinder {
    /// A member that must be there and of that kind.
    mutating func required(_ key: StaticString, _ kind: JSONValue.Kind) throws(Rejection) -> JSONValue {
        guard let value = member(key) else {
            throw Rejection(
                code: "notification.missing", reason: "a notification has a \(kind) \"\(key)\"", path: "\(key)")
        }
        return try value.checked(kind, "\(key)")
    }

    /// A member of that kind, or nil where it is missing or null.
    mutating func optional(
        _ key: StaticString, _ kind: JSONValue.Kind, in path: StaticString = ""
    ) throws(Rejection) -> JSONValue? {
        guard let value = member(key), !value.isNull else { return nil }
        return try value.checked(kind, path.utf8CodeUnitCount == 0 ? "\(key)" : "\(path).\(key)")
    }

    /// A member that is one of a few words.
    mutating func word<Word>(
        _ key: StaticString, _ rule: StaticString, _ read: (JSONValue) -> Word?
    ) throws(Rejection) -> (value: JSONValue, word: Word) {
        let value = try required(key, .string)
        guard let word = read(value) else {
            throw Rejection(code: "notification.word", reason: "must be \(rule)", path: "\(key)")
        }
        return (value, word)
    }
}

extension JSONValue {
    fileprivate func checked(_ kind: Kind, _ path: @autoclosure () -> String) throws(Rejection) -> JSONValue {
        guard self.kind == kind else {
            throw Rejection(code: "notification.kind", reason: "must be a \(kind)", path: path())
        }
        return self
    }
}
