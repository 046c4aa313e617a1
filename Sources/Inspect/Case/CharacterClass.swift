/// Which characters may stand in for each other in a pseudonym: those that no rule of Belfry tells apart but by order.
struct CharacterClass: Hashable {
    private let width: Int
    private let category: Unicode.GeneralCategory
    /// How far the capital is away: capitals of one class are in the order of their letters. Zero where there is none.
    private let capitalDistance: Int64
    private let emoji: [Bool]
    private let hasTrailingConsonant: Bool

    /// Characters of one row are each other's neighbours in Unicode and differ in the last byte of UTF-8 only.
    private static let rowLength: UInt32 = 64

    /// Nil for what stays: punctuation, blanks, marks, controls, and letters whose cases are no pair.
    ///
    /// - Parameter scalar: In lower case.
    init?(_ scalar: Unicode.Scalar) {
        let properties = scalar.properties
        category = properties.generalCategory
        switch category {
        case .lowercaseLetter, .otherLetter, .decimalNumber: break
        case .otherSymbol where properties.isEmojiPresentation: break
        default: return nil
        }
        guard scalar.lowerCase == scalar, properties.canonicalCombiningClass == .notReordered else { return nil }
        let upper = scalar.upperCase
        guard upper != nil || properties.uppercaseMapping == String(scalar) else { return nil }
        width = UTF8.width(scalar)
        capitalDistance = upper.map { Int64($0.value) - Int64(scalar.value) } ?? 0
        emoji = [
            properties.isEmojiModifier, properties.isEmojiModifierBase, (0x1F1E6...0x1F1FF).contains(scalar.value),
        ]
        guard !emoji[0], !emoji[2] else { return nil }
        // A Hangul syllable without one joins with a consonant that follows.
        hasTrailingConsonant = (0xAC00...0xD7A3).contains(scalar.value) && (scalar.value - 0xAC00) % 28 != 0
    }

    /// The characters that may stand in for one, in order, itself among them; empty for what stays.
    static func row(of scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        guard let own = CharacterClass(scalar) else { return [] }
        let start = scalar.value / rowLength * rowLength
        let below = neighbours((start..<scalar.value).reversed(), own)
        let above = neighbours(scalar.value + 1..<start + rowLength, own)
        return below.reversed() + [scalar] + above
    }

    /// Up to the first character of another class; capitals do not count, since none stands in lower case.
    private static func neighbours(_ values: some Sequence<UInt32>, _ own: CharacterClass) -> [Unicode.Scalar] {
        var found: [Unicode.Scalar] = []
        for value in values {
            guard let scalar = Unicode.Scalar(value) else { return found }
            if scalar.properties.generalCategory == .uppercaseLetter { continue }
            guard CharacterClass(scalar) == own else { return found }
            found.append(scalar)
        }
        return found
    }
}

extension Unicode.Scalar {
    /// The other case, where the two are a pair of one character each, of equal length.
    var upperCase: Unicode.Scalar? {
        guard let upper = Unicode.Scalar.only(properties.uppercaseMapping), upper != self,
            UTF8.width(upper) == UTF8.width(self), Unicode.Scalar.only(upper.properties.lowercaseMapping) == self
        else { return nil }
        return upper
    }

    /// As texts are compared regardless of case; itself where there is no such character.
    var lowerCase: Unicode.Scalar {
        guard let lower = Unicode.Scalar.only(properties.lowercaseMapping), lower != self, lower.upperCase == self
        else { return self }
        return lower
    }

    private static func only(_ text: String) -> Unicode.Scalar? {
        let scalars = text.unicodeScalars
        return scalars.count == 1 ? scalars.first : nil
    }
}
