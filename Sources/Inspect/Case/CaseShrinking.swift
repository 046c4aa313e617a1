/// Leaves out of a list whatever is not needed for a test to hold: first large pieces, then one at a time, until
/// nothing more can go.
struct CaseShrinking<Element> {
    /// Whether what is to be shown is still shown.
    let holds: ([Element]) throws -> Bool

    /// - Returns: A list of which no single element can be left out; `elements` itself must pass the test.
    func shrink(_ elements: [Element]) throws -> [Element] {
        var kept = elements
        var size = max(elements.count / 2, 1)
        while true {
            let before = kept.count
            kept = try withoutPieces(kept, size)
            if size > 1 { size /= 2 } else if kept.count == before { return kept }
        }
    }

    /// From the end, where later inputs do not hang on earlier ones.
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
