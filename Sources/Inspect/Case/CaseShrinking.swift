/// Removes elements from a list while a test still passes: first large pieces, then single elements.
struct CaseShrinking<Element> {
    /// Whether a list passes the test.
    let holds: ([Element]) throws -> Bool

    /// - Parameter elements: A list that passes the test.
    /// - Returns: A list that passes the test. If any one of its elements is removed, it fails.
    func shrink(_ elements: [Element]) throws -> [Element] {
        var kept = elements
        var size = max(elements.count / 2, 1)
        while true {
            let before = kept.count
            kept = try withoutPieces(kept, size)
            if size > 1 { size /= 2 } else if kept.count == before { return kept }
        }
    }

    /// Starts at the end, because earlier inputs do not depend on later ones.
    private func withoutPieces(_ elements: [Element], _ size: Int) throws -> [Element] {
        var kept = elements
        var end = kept.count
        while end > 0 {
            let start = max(end - size, 0)
            let rest = Array(kept[..<start] + kept[end...])
            if try holds(rest) { kept = rest }
            end = start
        }
        return kept
    }
}
