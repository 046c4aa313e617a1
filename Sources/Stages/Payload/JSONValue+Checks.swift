import JSON
import PipelineKit

extension JSONValue? {
    /// The member, which must exist and be of this kind.
    @inline(__always)
    func required(_ key: StaticString, _ kind: JSONValue.Kind) throws(Rejection) -> JSONValue {
        guard let value = self else { throw .missing(key, kind) }
        guard value.kind == kind else { throw .wrongKind(key, kind, value) }
        return value
    }

    /// The member, which must be of this kind; nil if it is missing or null.
    @inline(__always)
    func optional(_ path: StaticString, _ kind: JSONValue.Kind) throws(Rejection) -> JSONValue? {
        guard let value = self, !value.isNull else { return nil }
        guard value.kind == kind else { throw .wrongKind(path, kind, value) }
        return value
    }

    /// The member, which must be a word that `read` accepts.
    func word<Word>(
        _ key: StaticString, _ rule: StaticString, _ read: (JSONValue) -> Word?
    ) throws(Rejection) -> Word {
        let value = try required(key, .string)
        guard let word = read(value) else {
            let found = (value.string ?? "").printable
            throw Rejection(
                code: "notification.word", reason: "\(key) must be \(rule), not \"\(found)\"", path: "\(key)")
        }
        return word
    }
}

extension Rejection {
    @inline(never)
    fileprivate static func missing(_ key: StaticString, _ kind: JSONValue.Kind) -> Rejection {
        Rejection(code: "notification.missing", reason: "the event has no \(kind) \"\(key)\"", path: "\(key)")
    }

    @inline(never)
    fileprivate static func wrongKind(_ path: StaticString, _ kind: JSONValue.Kind, _ value: JSONValue) -> Rejection {
        Rejection(
            code: "notification.kind", reason: "\(path) must be of type \(kind), not \(value.kindName)",
            path: "\(path)")
    }
}
