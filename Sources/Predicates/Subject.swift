import JSON

extension Clause {
    /// What of a record a clause looks at.
    package enum Subject: Sendable, Hashable {
        /// A field of the app's own.
        case field(String)
        case system(SystemField)
        /// The words of all string fields.
        case allText
    }
}

/// What CloudKit itself knows of a record. The raw value is the name in a predicate's text (CKRecord).
package enum SystemField: String, Sendable, Hashable, CaseIterable {
    case recordID, creationDate, modificationDate, creatorUserRecordID, lastModifiedUserRecordID, recordChangeTag

    /// The name in `filterBy`, as CloudKit JS writes it.
    package var filterName: String {
        switch self {
        case .recordID: "recordName"
        case .creationDate: "createdTimestamp"
        case .modificationDate: "modifiedTimestamp"
        case .creatorUserRecordID: "createdUserRecordName"
        case .lastModifiedUserRecordID: "modifiedUserRecordName"
        case .recordChangeTag: "recordChangeTag"
        }
    }

    /// Of a text only the names that no field of an app has: CKRecord's, `recordName`, and the schema language's.
    package init?(inText name: String) {
        guard let field = SystemField(rawValue: name) ?? SystemField.schemaNames[name] else { return nil }
        self = field
    }

    /// As a user may have written it in `filterBy`, and in a text.
    package var spellings: String { filterName == rawValue ? rawValue : "\(filterName) (\(rawValue))" }

    /// - Parameter name: What `systemFieldName` says; there no field of an app can be meant.
    package init?(inFilter name: String) {
        guard let field = SystemField.filterNames[name] ?? SystemField(inText: name) else { return nil }
        self = field
    }

    private static let schemaNames: [String: SystemField] = [
        "recordName": .recordID, "___recordID": .recordID, "___createTime": .creationDate,
        "___modTime": .modificationDate, "___createdBy": .creatorUserRecordID,
        "___modifiedBy": .lastModifiedUserRecordID, "___etag": .recordChangeTag,
    ]

    private static let filterNames: [String: SystemField] =
        ["created": .creationDate, "modified": .modificationDate]
        .merging(allCases.map { ($0.filterName, $0) }) { $1 }

    /// What stands in the record dictionary; nil where it says nothing.
    ///
    /// - Parameter record: `{"recordName":…,"created":{"timestamp":…,"userRecordName":…},…}`
    package func value(in record: JSONValue?) -> JSONValue? {
        switch self {
        case .recordID: record?["recordName"]
        case .creationDate: record?["created"]?["timestamp"]
        case .modificationDate: record?["modified"]?["timestamp"]
        case .creatorUserRecordID: record?["created"]?["userRecordName"]
        case .lastModifiedUserRecordID: record?["modified"]?["userRecordName"]
        case .recordChangeTag: record?["recordChangeTag"]
        }
    }

    package func view(in record: JSONValue?) -> FieldView {
        guard let value = value(in: record) else { return .nothing }
        if isReference { return value.isString ? .reference(value) : .nothing }
        return isDate == value.isNumber ? FieldView(scalar: value) : .nothing
    }

    var isDate: Bool { self == .creationDate || self == .modificationDate }

    var isReference: Bool { self == .recordID || self == .creatorUserRecordID || self == .lastModifiedUserRecordID }
}
