import JSON
import PipelineKit

extension JSONValue {
    /// A member that must be there and of that kind.
    func required(_ key: StaticString, _ kind: Kind) throws(Rejection) -> JSONValue {
        guard let value = self[key] else {
            throw Rejection(
                code: "notification.missing", reason: "a notification has a \(kind) \"\(key)\"", path: "\(key)")
        }
        return try value.checked(kind, "\(key)")
    }

    /// A member of that kind, or nil where it is missing or null.
    func optional(_ key: StaticString, _ kind: Kind, in path: StaticString = "") throws(Rejection) -> JSONValue? {
        guard let value = self[key], !value.isNull else { return nil }
        return try value.checked(kind, path.utf8CodeUnitCount == 0 ? "\(key)" : "\(path).\(key)")
    }

    /// A member that is one of a few words.
    func word<Word>(
        _ key: StaticString, _ rule: StaticString, _ read: (JSONValue) -> Word?
    ) throws(Rejection) -> Word {
        guard let word = read(try required(key, .string)) else {
            throw Rejection(code: "notification.word", reason: "must be \(rule)", path: "\(key)")
        }
        return word
    }

    private func checked(_ kind: Kind, _ path: @autoclosure () -> String) throws(Rejection) -> JSONValue {
        guard self.kind == kind else {
            throw Rejection(code: "notification.kind", reason: "must be a \(kind)", path: path())
        }
        return self
    }
}
