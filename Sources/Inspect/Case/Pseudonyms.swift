import JSON
import Predicates

/// Replaces strings by pseudonyms that compare as the strings do. Equality, common prefixes and order stay the same, in
/// comparisons with and without regard to case.
///
/// The strings form a tree of lower-case characters. At each node, the next characters are exchanged for others of
/// their class in the same order, so strings with a common prefix get pseudonyms with a common prefix. Lengths in
/// characters and bytes stay the same. Only letters, digits and emoji are replaced. A letter is not replaced if it and
/// its other case do not map to each other, such as the Kelvin sign. In comparisons that ignore case, the order of such
/// letters may change.
///
/// With `replacesByWord`, each word has its own pseudonym, except stop words, which are kept. Then the order of two
/// strings may change if one has a stop word where the other has a replaced word. For a search, words that differ only
/// in diacritics are equal, but their pseudonyms may not be. ``CaseExport`` writes no export whose outcome changes with
/// the pseudonyms.
struct Pseudonyms {
    private struct Node {
        var children: [Unicode.Scalar: Int] = [:]
        var exchanged: [Unicode.Scalar: Unicode.Scalar] = [:]
    }

    private var nodes = [Node()]
    private let replacesByWord: Bool

    /// - Parameters:
    ///   - replacesByWord: Gives each word its own pseudonym, for predicates that search for words. Stop words are
    ///     kept.
    ///   - seed: Chooses the pseudonyms.
    ///   - row: See ``CharacterClass/row(of:)``.
    init(
        for texts: some Sequence<String>, byWord replacesByWord: Bool = false, seed: UInt64,
        row: (Unicode.Scalar) -> [Unicode.Scalar] = CharacterClass.row
    ) {
        self.replacesByWord = replacesByWord
        let texts = replacesByWord ? texts.flatMap(Pseudonyms.replacedParts) : Array(texts)
        for text in Set(texts.map { ExactText($0) }).sorted() { add(text.string) }
        var random = PseudonymRandom(state: seed)
        for index in nodes.indices { exchange(at: index, row, &random) }
    }

    /// - Parameter text: One of the strings given to the initializer. Characters that are not in the tree are kept.
    func pseudonym(of text: String) -> String {
        guard replacesByWord else { return replaced(text) }
        return Pseudonyms.parts(of: text).map { Pseudonyms.isKept($0) ? $0 : replaced($0) }.joined()
    }

    /// Splits a string into its words and the parts between the words.
    private static func parts(of text: String) -> [String] {
        var (parts, wasInWord) = ([String.UnicodeScalarView](), nil as Bool?)
        for scalar in text.unicodeScalars {
            let isInWord = Words.isWordCharacter(scalar)
            if wasInWord != isInWord { parts.append(String.UnicodeScalarView()) }
            parts[parts.count - 1].append(scalar)
            wasInWord = isInWord
        }
        return parts.map { String($0) }
    }

    private static func replacedParts(of text: String) -> [String] { parts(of: text).filter { !isKept($0) } }

    private static func isKept(_ word: String) -> Bool { Words.stopWords.contains(word.lowercased()) }

    private func replaced(_ text: String) -> String {
        var (result, node) = (String.UnicodeScalarView(), 0 as Int?)
        for scalar in text.unicodeScalars {
            let lower = scalar.lowerCase
            let exchanged = node.flatMap { nodes[$0].exchanged[lower] }
            result.append(exchanged.map { lower == scalar ? $0 : $0.upperCase ?? $0 } ?? scalar)
            node = node.flatMap { nodes[$0].children[lower] }
        }
        return String(result)
    }

    private mutating func add(_ text: String) {
        var node = 0
        for scalar in text.unicodeScalars {
            let lower = scalar.lowerCase
            if let child = nodes[node].children[lower] {
                node = child
            } else {
                nodes.append(Node())
                nodes[node].children[lower] = nodes.count - 1
                node = nodes.count - 1
            }
        }
    }

    private mutating func exchange(
        at index: Int, _ row: (Unicode.Scalar) -> [Unicode.Scalar], _ random: inout PseudonymRandom
    ) {
        var rows: [[Unicode.Scalar]: [Unicode.Scalar]] = [:]
        for scalar in nodes[index].children.keys.sorted() {
            let row = row(scalar)
            if row.count > 1 { rows[row, default: []].append(scalar) }
        }
        for (row, scalars) in rows.sorted(by: { $0.key[0] < $1.key[0] }) {
            let chosen = Pseudonyms.choose(scalars, from: row, &random)
            for (scalar, other) in zip(scalars, chosen) { nodes[index].exchanged[scalar] = other }
        }
    }

    private static let triesMax = 8

    /// Chooses a character of the row for each of `scalars`, in the same order. Of several tries, it uses the one that
    /// changes the most characters.
    private static func choose(
        _ scalars: [Unicode.Scalar], from row: [Unicode.Scalar], _ random: inout PseudonymRandom
    ) -> [Unicode.Scalar] {
        var (best, bestKept) = (scalars, scalars.count)
        for _ in 0..<triesMax where bestKept > 0 {
            let chosen = random.choose(scalars.count, from: row)
            let kept = zip(scalars, chosen).count { $0 == $1 }
            if kept < bestKept { (best, bestKept) = (chosen, kept) }
        }
        return best
    }
}

/// SplitMix64, which gives the same numbers on every machine.
struct PseudonymRandom {
    var state: UInt64

    private mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ word >> 31) % UInt64(limit))
    }

    /// Chooses `count` elements in their order, each choice equally likely (Knuth's algorithm S).
    mutating func choose<Element>(_ count: Int, from elements: [Element]) -> [Element] {
        var chosen: [Element] = []
        for (index, element) in elements.enumerated()
        where below(elements.count - index) < count - chosen.count { chosen.append(element) }
        return chosen
    }
}
