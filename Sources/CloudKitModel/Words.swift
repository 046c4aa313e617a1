import JSON

/// One of a container's three databases.
package enum DatabaseScope: Int, CaseIterable, Sendable {
    /// Raw values are the wire codes of `ck.qry.dbs`, which differ from the raw values of `CKDatabase.Scope`.
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

/// Development or production: two separate sets of data in one container.
package enum ContainerEnvironment: Int, CaseIterable, Sendable {
    /// Raw values are the wire codes of `ck.ce`.
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

/// What happened to a record.
package enum RecordChange: Int, CaseIterable, Sendable {
    /// Raw values are the wire codes of `ck.qry.fo`.
    case create = 1
    case update = 2
    case delete = 3

    static let words: [StaticString] = ["create", "update", "delete"]

    /// - Throws: `member.kind` or `word.unknown`.
    package init(_ json: JSONValue) throws(ModelError) {
        self = RecordChange.allCases[try json.expectWord(RecordChange.words, "a change")]
    }

    package var word: StaticString { RecordChange.words[rawValue - 1] }
}
