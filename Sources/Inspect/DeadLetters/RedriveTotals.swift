/// What became of letters that were sent again.
package struct RedriveTotals: Sendable {
    package struct Refusal: Sendable {
        let letter: EventPlace
        let reason: String

        package init(letter: EventPlace, reason: String) { (self.letter, self.reason) = (letter, reason) }
    }

    package var taken = 0
    package var refused = 0
    /// With their reasons; of very many not all.
    package var refusals: [Refusal] = []

    package init() {}
}
