import JSON

/// Development or production: two separate sets of data in one container.
package enum ContainerEnvironment: Int, CaseIterable, Sendable {
    /// Raw values are the numbers that a payload has as `ck.ce`.
    case production = 1
    case development = 2

    private static let words: [StaticString] = ["production", "development"]

    /// - Throws: `member.kind` or `word.unknown`.
    @inline(__always)
    package init(_ json: JSONValue) throws(ModelError) {
        self = ContainerEnvironment.allCases[try json.expectWord(ContainerEnvironment.words, "an environment")]
    }

    package var word: StaticString { ContainerEnvironment.words[rawValue - 1] }
}
