/// Removes elements from a list while a test still passes: first large pieces, then single elements.
struct CaseShrinking<Element> {
    let passesTest: ([Element]) throws -> Bool

    /// - Parameter elements: A list that passes the test.
    /// - Returns: A list that passes the test, but fails it as soon as any single element is removed.
    func shrink(_ elements: [Element]) throws -> [Element] {
        var kept = elements
        var size = max(elements.count / 2, 1)
        while true {
            let before = kept.count
            kept = try removingUnneededPieces(of: size, from: kept)
            if size > 1 { size /= 2 } else if kept.count == before { return kept }
        }
    }

    /// Tries the pieces at the end first. The elements are the commands of a case: a later command may depend on an
    /// earlier one, but never the reverse, so a removal at the end breaks nothing before it.
    private func removingUnneededPieces(of size: Int, from elements: [Element]) throws -> [Element] {
        var kept = elements
        var end = kept.count
        while end > 0 {
            let start = max(end - size, 0)
            let rest = Array(kept[..<start] + kept[end...])
            if try passesTest(rest) { kept = rest }
            end = start
        }
        return kept
    }
}
