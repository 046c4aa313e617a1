extension RecordPredicate {
    /// The text with each string literal replaced, and everything else as it stands.
    ///
    /// - Throws: The first thing that is no token; the text need not be a predicate otherwise.
    package static func replacingStrings(
        in text: String, _ replace: (String) -> String
    ) throws(PredicateError) -> String {
        let bytes = Array(text.utf8)
        var (lexer, result, copied) = (Lexer(text), [UInt8](), 0)
        while true {
            let token = try lexer.next()
            if token.kind == .end { break }
            guard case .string(let literal) = token.kind else { continue }
            result += bytes[copied..<token.offset]
            result += quoted(replace(literal), bytes[token.offset])
            copied = lexer.position
        }
        return String(decoding: result + bytes[copied...], as: UTF8.self)
    }

    private static func quoted(_ text: String, _ quote: UInt8) -> [UInt8] {
        var bytes = [quote]
        for byte in text.utf8 {
            if byte == quote || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return bytes + [quote]
    }
}
