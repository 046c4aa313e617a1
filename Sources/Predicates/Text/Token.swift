/// A word, sign, literal or placeholder of a predicate's text, or the end of the text.
struct Token {
    enum Kind: Equatable {
        /// An identifier or a keyword. `#AND` is a quoted identifier, not a keyword.
        case word(String, isQuoted: Bool)
        case string(String)
        case integer(Int64)
        case double(Double)
        /// `%K` for a name, `%@` for a value.
        case argument(isName: Bool)
        /// An operator, a bracket, or one of `,` `.` `:`.
        case sign(String)
        case end
    }

    let kind: Kind
    /// The byte offset in the text.
    let offset: Int

    /// The word in capitals, if it may be a keyword.
    var keyword: String? {
        guard case .word(let word, isQuoted: false) = kind else { return nil }
        return word.uppercased()
    }

    func isKeyword(_ word: String) -> Bool { keyword == word }

    func isSign(_ sign: String) -> Bool { kind == .sign(sign) }

    /// The token's name in an error.
    var name: String {
        switch kind {
        case .word(let word, _): "'\(word.prefix(64))'"
        case .string: "a string"
        case .integer, .double: "a number"
        case .sign(let sign): "'\(sign)'"
        case .argument(let isName): isName ? "'%K'" : "'%@'"
        case .end: "the end of the predicate"
        }
    }

    var value: FieldValue? {
        switch kind {
        case .string(let text): FieldValue(text: text)
        case .integer(let number): .integer(number)
        case .double(let number): .double(number)
        case .word(let word, isQuoted: false):
            switch word.uppercased() {
            case "TRUE", "YES": .integer(1)
            case "FALSE", "NO": .integer(0)
            default: nil
            }
        default: nil
        }
    }
}
