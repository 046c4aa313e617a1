extension RecordPredicate {
    /// Replaces each string literal in a predicate's text, except the strings in `CAST(…)` and the options of `tokenize`.
    ///
    /// - Throws: An error for the first invalid token. The text need not be a valid predicate.
    package static func replacingStrings(
        in text: String, _ replace: (String) -> String
    ) throws(PredicateError) -> String {
        let bytes = Array(text.utf8)
        var (lexer, result, copied, literals) = (Lexer(text), [UInt8](), 0, Literals())
        while true {
            let token = try lexer.next()
            if token.kind == .end { break }
            guard literals.advance(to: token), case .string(let literal) = token.kind else { continue }
            result += bytes[copied..<token.offset]
            result += quoted(replace(literal), bytes[token.offset])
            copied = lexer.position
        }
        return String(decoding: result + bytes[copied...], as: UTF8.self)
    }

    /// The index of each `%K` among all placeholders, from 0. The search ends at the first invalid token.
    package static func namePlaceholders(in text: String) -> Set<Int> {
        var (lexer, names, count) = (Lexer(text), Set<Int>(), 0)
        do throws(PredicateError) {
            while true {
                let token = try lexer.next()
                if token.kind == .end { return names }
                guard case .argument(let isName) = token.kind else { continue }
                if isName { names.insert(count) }
                count += 1
            }
        } catch {
            return names
        }
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

/// Distinguishes strings with an app's data from dates, type names and options, which `replacingStrings` keeps.
private struct Literals {
    private enum Place { case elsewhere, inCast, inTokenizeText, inTokenizeOptions }
    private var place = Place.elsewhere
    /// After the word `CAST` or `TOKENIZE`, the place that begins if the next token is `(` or `:`. Before any other
    /// token, the word is a field's name.
    private var announced: Place?
    /// How many parentheses are open since the function's name.
    private var depth = 0

    /// Call this function for every token, in order.
    ///
    /// - Returns: Whether a string at this token is data.
    mutating func advance(to token: Token) -> Bool {
        if place == .elsewhere, let announced, token.isSign("(") || token.isSign(":") {
            (place, depth) = (announced, 0)
        }
        announced = token.isKeyword("CAST") ? .inCast : token.isKeyword("TOKENIZE") ? .inTokenizeText : nil
        if place != .elsewhere {
            if token.isSign("(") { depth += 1 }
            if token.isSign(")") { depth -= 1 }
            if token.isSign(")"), depth <= 0 { place = .elsewhere }
            if place == .inTokenizeText, depth == 1, token.isSign(",") { place = .inTokenizeOptions }
        }
        return place == .elsewhere || place == .inTokenizeText
    }
}
