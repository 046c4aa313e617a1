/// Finds the key or word that was probably meant.
package enum Spelling {
    /// The number of Unicode scalars of a word that are compared.
    private static let readMax = 64

    /// The nearest of `words`, ignoring case; nil if no word is near. A near word has at most one mistake in three
    /// letters. A single mistake is always allowed. Of words that are equally near, the first is returned.
    package static func nearest(to word: String, among words: [String]) -> String? {
        let near = words.map { (word: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= max(1, min(word.count, $0.word.count) / 3) }
        return near.min { $0.distance < $1.distance }?.word
    }

    /// `did you mean "x"?`; nil if no word is near.
    package static func suggestion(for word: String, among words: [String]) -> String? {
        nearest(to: word, among: words).map { "did you mean \"\($0)\"?" }
    }

    /// `did you mean "x"?` if a word is near; otherwise `use x, y or z` with all words.
    package static func advice(for word: String, among words: [StaticString]) -> String {
        let words = words.map { "\($0)" }
        if let suggestion = suggestion(for: word, among: words) { return suggestion }
        let others = words.dropLast().joined(separator: ", ")
        return "use " + others + (others.isEmpty ? "" : " or ") + (words.last ?? "")
    }

    /// The Damerau-Levenshtein distance (optimal string alignment): the number of insertions, removals, replacements
    /// and swaps of neighbours. Ignores case, and compares only the first 64 Unicode scalars of each word.
    package static func distance(_ left: String, _ right: String) -> Int {
        let (a, b) = (letters(left), letters(right))
        var (beforeLast, last) = ([Int](), Array(0...b.count))
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                let replaced = last[j] + (a[i] == b[j] ? 0 : 1)
                let swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]
                row.append(min(replaced, last[j + 1] + 1, row[j] + 1, swapped ? beforeLast[j - 1] + 1 : .max))
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }

    private static func letters(_ word: String) -> [Unicode.Scalar] {
        Array(word.lowercased().unicodeScalars.prefix(readMax))
    }
}
