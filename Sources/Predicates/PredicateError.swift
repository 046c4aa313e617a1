import JSON

/// Why a predicate cannot be used, and what to write instead.
package struct PredicateError: Error, Hashable, Sendable {
    /// A stable word for programs: `predicate.syntax`, `predicate.unsupported`, `predicate.type`,
    /// `predicate.missing`, `predicate.unknown_key`, `predicate.arguments`, `predicate.limit`.
    package var code: String
    /// Where in the query, as in `filterBy[1].fieldValue` or `arguments[0]`; empty for a predicate's text.
    package var path: String
    /// Byte offset in a predicate's text, from 0; of an argument, of what stands for it. nil for `filterBy`.
    package var offset: Int?
    /// A sentence with the rule and what to do.
    package var reason: String

    package init(code: String, path: String = "", offset: Int? = nil, reason: String) {
        self.code = code
        self.path = path
        self.offset = offset
        self.reason = reason
    }

    /// The line of the text that is wrong, a caret under the place, and the reason.
    ///
    /// - Parameter text: The text that was read. Of a long line only what stands around the place is shown.
    package func rendered(in text: String) -> String {
        guard let offset else { return reason }
        return "\(excerpt(of: text, at: offset)) \(reason)"
    }

    /// The line, and the caret under the place.
    private func excerpt(of text: String, at offset: Int) -> String {
        let bytes = Array(text.utf8)
        let place = min(offset, bytes.count)
        let start = max((bytes[..<place].lastIndex(of: 0x0A) ?? -1) + 1, place - 60)
        let end = min(bytes[place...].firstIndex(of: 0x0A) ?? bytes.count, place + 60)
        let before = PredicateError.visible(bytes[start..<place])
        let after = PredicateError.visible(bytes[place..<end])
        return "\(before)\(after)\n\(String(repeating: " ", count: before.unicodeScalars.count))^"
    }

    /// One column a scalar: control characters show as spaces.
    private static func visible(_ bytes: ArraySlice<UInt8>) -> String {
        let whole = bytes.drop { $0 & 0xC0 == 0x80 }
        return String(decoding: whole.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
    }
}

extension PredicateError {
    /// The same, with a place in the text.
    func at(_ offset: Int) -> PredicateError { PredicateError(code: code, path: path, offset: offset, reason: reason) }

    /// Where in a query: `predicate` for its text, else the path.
    package var queryPath: String { path.isEmpty ? "predicate" : path }

    /// The reason; for a predicate's text with the place, and on two more lines that place and a caret under it.
    package func queryReason(in query: JSONValue) -> String {
        guard let offset, let text = query["predicate"]?.string else { return reason }
        return "\(description)\n\(excerpt(of: text, at: offset))"
    }
}

extension PredicateError: CustomStringConvertible {
    package var description: String {
        if let offset { return "\(reason) (at byte \(offset) of the predicate)" }
        return path.isEmpty ? reason : "\(path): \(reason)"
    }
}
