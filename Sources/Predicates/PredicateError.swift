/// Why a predicate cannot be used, and what to write instead.
public struct PredicateError: Error, Hashable, Sendable {
    /// A stable word for programs: `predicate.syntax`, `predicate.unsupported`, `predicate.not_yet`,
    /// `predicate.type`, `predicate.missing`, `predicate.limit`.
    public var code: String
    /// Where in the JSON, as in `filterBy[1].fieldValue`; empty for a predicate's text.
    public var path: String
    /// Byte offset in a predicate's text, from 0; nil for `filterBy`.
    public var offset: Int?
    /// A sentence with the rule and what to do.
    public var reason: String

    public init(code: String, path: String = "", offset: Int? = nil, reason: String) {
        self.code = code
        self.path = path
        self.offset = offset
        self.reason = reason
    }

    /// The line of the text that is wrong, a caret under the place, and the reason.
    ///
    /// - Parameter text: The text that was read. Of a long line only what stands around the place is shown.
    public func rendered(in text: String) -> String {
        guard let offset else { return reason }
        let bytes = Array(text.utf8)
        let place = min(offset, bytes.count)
        let start = max((bytes[..<place].lastIndex(of: 0x0A) ?? -1) + 1, place - 60)
        let end = min(bytes[place...].firstIndex(of: 0x0A) ?? bytes.count, place + 60)
        let before = PredicateError.visible(bytes[start..<place])
        let after = PredicateError.visible(bytes[place..<end])
        return "\(before)\(after)\n\(String(repeating: " ", count: before.unicodeScalars.count))^ \(reason)"
    }

    /// One column a scalar: control characters show as spaces.
    private static func visible(_ bytes: ArraySlice<UInt8>) -> String {
        let whole = bytes.drop { $0 & 0xC0 == 0x80 }
        return String(decoding: whole.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
    }
}

extension PredicateError: CustomStringConvertible {
    public var description: String {
        if let offset { return "\(reason) (at byte \(offset) of the predicate)" }
        return path.isEmpty ? reason : "\(path): \(reason)"
    }
}
