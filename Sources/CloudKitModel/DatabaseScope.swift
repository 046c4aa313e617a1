import JSON

/// One of a container's three databases.
package enum DatabaseScope: Int, CaseIterable, Sendable {
    /// Raw values are the numbers that a payload has as `dbs`, such as `ck.qry.dbs`. The raw values of
    /// `CKDatabase.Scope` are different.
    case `private` = 1
    case `public` = 2
    case shared = 3

    private static let words: [StaticString] = ["private", "public", "shared"]

    /// - Throws: `member.kind` or `word.unknown`.
    @inline(__always)
    package init(_ json: JSONValue) throws(ModelError) {
        self = DatabaseScope.allCases[try json.expectWord(DatabaseScope.words, "a database")]
    }

    package var word: StaticString { DatabaseScope.words[rawValue - 1] }
}
