import JSON

/// Two functions that replace the personal strings and the tokens of a case by pseudonyms.
struct Disguise {
    var text: (String) -> String = { $0 }
    /// Returns the pseudonym of a token. A hexadecimal token has a hexadecimal pseudonym.
    var token: (String) -> String = { $0 }
}

/// The strings of a case that a ``Disguise`` replaces.
struct DisguisedTexts {
    private(set) var texts: Set<ExactText> = []
    private(set) var tokens: Set<ExactText> = []

    var all: Set<ExactText> { texts.union(tokens) }

    init(of lines: some Sequence<CaseLine>) throws {
        let found = FoundTexts()
        for line in lines { _ = try line.command(found.disguise) }
        (texts, tokens) = (found.texts, found.tokens)
    }

    func disguise(byWord: Bool, seed: UInt64) -> Disguise {
        let plain = texts.union(tokens.filter { !Self.isHexadecimal($0.string) }).map(\.string)
        let names = Pseudonyms(for: plain, byWord: byWord, seed: seed)
        let digits = Pseudonyms(
            for: tokens.map(\.string).filter(Self.isHexadecimal), seed: seed, row: Self.hexadecimalRow)
        return Disguise(text: names.pseudonym) { token in
            Self.isHexadecimal(token) ? digits.pseudonym(of: token) : names.pseudonym(of: token)
        }
    }

    private static func isHexadecimal(_ token: String) -> Bool { token.utf8.allSatisfy { isDigit($0 | 0x20) } }

    private static func isDigit(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
    }

    private static func hexadecimalRow(of scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        CharacterClass.row(of: scalar).filter { $0.isASCII && isDigit(UInt8($0.value)) }
    }
}

/// Collects the strings and tokens that ``disguise`` is called with.
private final class FoundTexts {
    var texts: Set<ExactText> = []
    var tokens: Set<ExactText> = []

    var disguise: Disguise {
        Disguise { text in
            self.texts.insert(ExactText(text))
            return text
        } token: { token in
            self.tokens.insert(ExactText(token))
            return token
        }
    }
}
