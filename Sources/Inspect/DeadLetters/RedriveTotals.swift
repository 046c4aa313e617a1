/// How many letters of a redrive were accepted and refused.
package struct RedriveTotals: Sendable {
    package struct Refusal: Sendable {
        let letter: EventPlace
        let reason: String

        package init(letter: EventPlace, reason: String) { (self.letter, self.reason) = (letter, reason) }
    }

    package var accepted = 0
    /// The letters that ingest refused, and the letters for which no command could be made.
    package var refused = 0
    /// The refusals with a known reason. Ingest gives no reason for some letters if it refuses very many, or if it
    /// restarts before it answers.
    package var refusals: [Refusal] = []

    package init() {}
}
