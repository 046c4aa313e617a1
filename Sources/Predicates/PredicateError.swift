import JSON

/// Why a predicate is rejected, and often what to write instead.
package struct PredicateError: Error, Hashable, Sendable {
    /// A stable word for programs: `predicate.syntax`, `predicate.unsupported`, `predicate.type`,
    /// `predicate.missing`, `predicate.unknown_key`, `predicate.arguments`, `predicate.limit`.
    package var code: String
    /// The position in the query, such as `filterBy[1].fieldValue` or `arguments[0]`. Empty for a mistake in a
    /// predicate's text.
    package var path: String
    /// The byte offset in a predicate's text, from 0. For an argument, the offset of its placeholder. Nil for other
    /// mistakes, such as a mistake in `filterBy`.
    package var offset: Int?
    /// Says what is wrong, and often what to write instead.
    package var reason: String

    package init(code: String, path: String = "", offset: Int? = nil, reason: String) {
        self.code = code
        self.path = path
        self.offset = offset
        self.reason = reason
    }

    /// The line of the text that contains an offset, with a caret under the offset. A long line is cut before and after
    /// the offset.
    package static func excerpt(of text: String, at offset: Int) -> String {
        let bytes = Array(text.utf8)
        let place = min(offset, bytes.count)
        let start = max((bytes[..<place].lastIndex(of: 0x0A) ?? -1) + 1, place - 60)
        let end = min(bytes[place...].firstIndex(of: 0x0A) ?? bytes.count, place + 60)
        let (before, after) = (visible(bytes[start..<place]), visible(bytes[place..<end]))
        return "\(before)\(after)\n\(String(repeating: " ", count: before.unicodeScalars.count))^"
    }

    /// Replaces each ASCII control character by a space. Otherwise the caret would be in the wrong column, for example
    /// after a tab. If the bytes begin inside a scalar, the rest of this scalar is dropped.
    private static func visible(_ bytes: ArraySlice<UInt8>) -> String {
        let whole = bytes.drop { $0 & 0xC0 == 0x80 }
        return String(decoding: whole.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }, as: UTF8.self)
    }
}

extension PredicateError {
    /// The same error with an offset in the text.
    func at(_ offset: Int) -> PredicateError { PredicateError(code: code, path: path, offset: offset, reason: reason) }

    /// The position in a query: `predicate` for its text, else the path.
    package var queryPath: String { path.isEmpty ? "predicate" : path }

    /// The reason. If the error has an ``offset``, the offset follows the reason, and two more lines show the excerpt of
    /// the text with the caret.
    package func queryReason(in query: JSONValue) -> String {
        guard let offset, let text = query["predicate"]?.string else { return reason }
        return "\(description)\n\(PredicateError.excerpt(of: text, at: offset))"
    }
}

extension PredicateError: CustomStringConvertible {
    package var description: String {
        if let offset { return "\(reason) (at byte \(offset) of the predicate)" }
        return path.isEmpty ? reason : "\(path): \(reason)"
    }
}
