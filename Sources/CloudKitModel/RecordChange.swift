import JSON

/// What happened to a record.
package enum RecordChange: Int, CaseIterable, Sendable {
    /// Raw values are the numbers that a payload has as `ck.qry.fo`.
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
