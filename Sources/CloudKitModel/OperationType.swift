import Events
import JSON

/// What an operation of `records.modify` does with its record.
package enum OperationType: Int, CaseIterable, Sendable {
    case create, update, forceUpdate, replace, forceReplace, delete, forceDelete

    private static let words: [StaticString] = [
        "create", "update", "forceUpdate", "replace", "forceReplace", "delete", "forceDelete",
    ]

    /// - Throws: `member.kind` or `word.unknown`.
    package init(_ json: JSONValue) throws(ModelError) {
        self = OperationType.allCases[try json.expectWord(OperationType.words, "an operation's type")]
    }

    package var word: StaticString { OperationType.words[rawValue] }

    package var isDelete: Bool { self == .delete || self == .forceDelete }

    /// Whether fields that the operation does not name keep their values.
    package var mergesFields: Bool { self == .update || self == .forceUpdate }

    /// Whether the record must exist, and the operation must name the record's current change tag (CloudKit Web
    /// Services Reference: Record Dictionary).
    package var needsChangeTag: Bool { self == .update || self == .replace || self == .delete }

    /// Whether the operation may create a record, and so must name its type.
    package var mayCreate: Bool { self == .create || self == .forceUpdate || self == .forceReplace }
}
