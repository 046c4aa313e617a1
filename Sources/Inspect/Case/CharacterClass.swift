/// A class of characters. They can replace each other in a pseudonym, because Belfry's rules distinguish them only by
/// their order.
struct CharacterClass: Hashable {
    private let width: Int
    private let category: Unicode.GeneralCategory
    /// The distance in code points from the letter to its capital; 0 if the letter has no capital. The distance is
    /// equal within a class, so capitals have the same order as their letters.
    private let capitalDistance: Int64
    private let emojiTraits: [Bool]
    private let hasTrailingConsonant: Bool

    /// Characters of one row are neighbours in Unicode and differ only in the last byte of UTF-8.
    private static let rowLength: UInt32 = 64

    /// Nil for characters that are never replaced. Only letters, decimal digits, and emoji with emoji presentation can
    /// be replaced. Emoji modifiers, the letters of flags and modifier letters such as `ʰ` are never replaced, nor are
    /// letters that have a capital but no `upperCase`.
    ///
    /// - Parameter scalar: A character in lower case.
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
        emojiTraits = [
            properties.isEmojiModifier, properties.isEmojiModifierBase, (0x1F1E6...0x1F1FF).contains(scalar.value),
        ]
        guard !emojiTraits[0], !emojiTraits[2] else { return nil }
        // A Hangul syllable without a trailing consonant joins with a consonant after it.
        hasTrailingConsonant = (0xAC00...0xD7A3).contains(scalar.value) && (scalar.value - 0xAC00) % 28 != 0
    }

    /// The characters that can replace a character, in order, including the character itself. Empty if the character is
    /// never replaced.
    static func row(of scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        guard let own = CharacterClass(scalar) else { return [] }
        let start = scalar.value / rowLength * rowLength
        let below = neighbours((start..<scalar.value).reversed(), own)
        let above = neighbours(scalar.value + 1..<start + rowLength, own)
        return below.reversed() + [scalar] + above
    }

    /// The characters up to the first one of another class. Capitals are skipped, since ``Pseudonyms`` stores lower
    /// case.
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
    /// The capital of this letter. Nil unless both are single characters of equal length that map to each other.
    var upperCase: Unicode.Scalar? {
        guard let upper = Unicode.Scalar.only(properties.uppercaseMapping), upper != self,
            UTF8.width(upper) == UTF8.width(self), Unicode.Scalar.only(upper.properties.lowercaseMapping) == self
        else { return nil }
        return upper
    }

    /// The lower-case letter whose ``upperCase`` is this character; otherwise the character itself.
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
