/// How many letters ingest accepted and refused in a redrive.
package struct RedriveTotals: Sendable {
    package struct Refusal: Sendable {
        let letter: EventPlace
        let reason: String

        package init(letter: EventPlace, reason: String) { (self.letter, self.reason) = (letter, reason) }
    }

    package var accepted = 0
    package var refused = 0
    /// The refusals for which ingest gave a reason. Ingest gives no reason for some letters if it
    /// refuses very many, or if it restarts before it answers.
    package var refusals: [Refusal] = []

    package init() {}
}
