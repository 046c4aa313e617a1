import JSON
import Predicates

/// Stands for texts in a case: each text has one pseudonym, and between any two texts equality, common beginnings and
/// order stay what they were, with regard to case and without.
///
/// The texts are a tree by their characters in lower case. At each place of the tree the characters that follow are
/// exchanged for others of their class, in the same order; so a text's beginning has the beginning of its pseudonym.
/// What is no letter, digit or emoji stays, and so do lengths in characters and bytes. A few letters have no pair of
/// cases, such as the Kelvin sign: they stay too, and regardless of case order is not promised for them.
///
/// By word, this holds too but for order beside a word that stays; and two words that a search takes for the same stay so
/// where they differ in case only. A case whose outcome hangs on more does not survive, and is not written.
struct Pseudonyms {
    private struct Node {
        var children: [Unicode.Scalar: Int] = [:]
        var exchanged: [Unicode.Scalar: Unicode.Scalar] = [:]
    }

    private var nodes = [Node()]
    /// Whether each word has its own pseudonym, wherever it stands: what a search for words needs.
    private let areByWord: Bool

    /// - Parameters:
    ///   - areByWord: Whether each word of a text is replaced by itself. A word that a search leaves out stays.
    ///   - seed: The same seed and texts give the same pseudonyms.
    ///   - row: The characters that may stand in for one, in order, itself among them.
    init(
        for texts: some Sequence<String>, byWord areByWord: Bool = false, seed: UInt64,
        row: (Unicode.Scalar) -> [Unicode.Scalar] = CharacterClass.row
    ) {
        self.areByWord = areByWord
        let texts = areByWord ? texts.flatMap(Pseudonyms.words) : Array(texts)
        for text in Set(texts.map { ExactText($0) }).sorted() { add(text.string) }
        var random = PseudonymRandom(state: seed)
        for index in nodes.indices { exchange(at: index, row, &random) }
    }

    /// A text that was not among those given keeps what is not in the tree.
    func pseudonym(of text: String) -> String {
        guard areByWord else { return replaced(text) }
        return Pseudonyms.parts(of: text).map { Pseudonyms.isKept($0) ? $0 : replaced($0) }.joined()
    }

    /// Words, and what stands between them.
    private static func parts(of text: String) -> [String] {
        var (parts, wasLetter) = ([String.UnicodeScalarView](), nil as Bool?)
        for scalar in text.unicodeScalars {
            let isLetter = Words.isLetter(scalar)
            if wasLetter != isLetter { parts.append(String.UnicodeScalarView()) }
            parts[parts.count - 1].append(scalar)
            wasLetter = isLetter
        }
        return parts.map { String($0) }
    }

    private static func words(of text: String) -> [String] { parts(of: text).filter { !isKept($0) } }

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

    /// As many of the row as there are characters, in order; of some tries the one that leaves the fewest as they are.
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

/// SplitMix64: the same on every machine.
struct PseudonymRandom {
    var state: UInt64

    private mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ word >> 31) % UInt64(limit))
    }

    /// `count` of the elements, in their order, each choice as likely as any other (Knuth's algorithm S).
    mutating func choose<Element>(_ count: Int, from elements: [Element]) -> [Element] {
        var chosen: [Element] = []
        for (index, element) in elements.enumerated()
        where below(elements.count - index) < count - chosen.count { chosen.append(element) }
        return chosen
    }
}
