/// Splits text into words for a search (CKQuery: tokenised search, ignoring case and diacritics).
///
/// A word is a run of letters, digits and their marks. Other characters separate words. Letters are folded to lower
/// case and, in Latin, Greek and Cyrillic, lose their diacritics. In a script without spaces, a whole run is one word.
package enum Words {
    /// Words that a search ignores (CKQuery).
    package static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    /// The distinct words of a search's text in order, without stop words.
    static func sought(_ text: String) -> [FieldValue] {
        var (words, seen) = ([FieldValue](), Set<[UInt8]>())
        var text = text
        text.withUTF8 {
            forEach(in: UnsafeRawBufferPointer($0)) { word in
                guard !stopWords.contains(String(decoding: word, as: UTF8.self)) else { return }
                let bytes = Array(word)
                if seen.insert(bytes).inserted { words.append(.text(bytes)) }
            }
        }
        return words
    }

    /// Calls `body` with each folded word, which is valid during the call.
    package static func forEach(in text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        if text.allSatisfy({ $0 < 0x80 }) {
            withUnsafeTemporaryAllocation(byteCount: text.count, alignment: 1) { folded in
                for index in text.indices { folded[index] = Words.folded(text[index]) }
                split(UnsafeRawBufferPointer(folded), body)
            }
        } else {
            folded(String(decoding: text, as: UTF8.self)).withUnsafeBytes { split($0, body) }
        }
    }

    private static let separator = UInt8(ascii: " ")

    private static func split(_ folded: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        for index in 0...folded.count where index == folded.count || folded[index] == separator {
            if index > start { body(UnsafeRawBufferPointer(rebasing: folded[start..<index])) }
            start = index + 1
        }
    }

    @inline(__always)
    private static func folded(_ byte: UInt8) -> UInt8 {
        let lower = byte | 0x20
        if lower &- UInt8(ascii: "a") < 26 { return lower }
        return byte &- UInt8(ascii: "0") < 10 ? byte : separator
    }

    private static func folded(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                bytes.append(folded(UInt8(truncatingIfNeeded: scalar.value)))
            } else {
                for lower in scalar.properties.lowercaseMapping.unicodeScalars { append(lower, to: &bytes) }
            }
        }
        return bytes
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        if Diacritics.isMark(scalar) { return }
        let base = Diacritics.bases[scalar] ?? scalar
        if isWordCharacter(base) { bytes.append(contentsOf: base.utf8) } else { bytes.append(separator) }
    }

    /// Whether a character can be part of a word.
    package static func isWordCharacter(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.properties.isAlphabetic { return true }
        return switch scalar.properties.generalCategory {
        case .decimalNumber, .letterNumber, .otherNumber, .nonspacingMark, .spacingMark: true
        default: false
        }
    }
}

/// Searches several strings for words.
struct WordSearch {
    private let sought: [FieldValue]
    private let wantsAll: Bool
    private var isFound: [Bool]
    private var foundCount = 0

    init(_ sought: [FieldValue], all wantsAll: Bool) {
        (self.sought, self.wantsAll) = (sought, wantsAll)
        isFound = [Bool](repeating: false, count: sought.count)
    }

    /// Whether all words were found, or one of them if one is enough. False for a search without words.
    var hasSucceeded: Bool { foundCount > 0 && (!wantsAll || foundCount == sought.count) }

    mutating func look(in text: UnsafeRawBufferPointer) {
        Words.forEach(in: text) { word in
            for index in sought.indices where !isFound[index] {
                guard case .text(let bytes) = sought[index], bytes.elementsEqual(word) else { continue }
                isFound[index] = true
                foundCount += 1
            }
        }
    }
}
