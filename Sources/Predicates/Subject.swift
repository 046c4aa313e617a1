import JSON

extension Clause {
    /// The part of a record that a clause compares.
    package enum Subject: Sendable, Hashable {
        /// A field of the app.
        case field(String)
        case system(SystemField)
        /// The words of all string fields.
        case allText
    }
}

/// A field that CloudKit itself maintains. The raw value is its name in a predicate's text (CKRecord).
package enum SystemField: String, Sendable, Hashable, CaseIterable {
    case recordID, creationDate, modificationDate, creatorUserRecordID, lastModifiedUserRecordID, recordChangeTag

    /// The name in `filterBy` (CloudKit JS).
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

    /// Accepts the names that mean a system field in a predicate's text: the names in CKRecord, `recordName`, and the
    /// names in the schema language.
    package init?(inText name: String) {
        guard let field = SystemField(rawValue: name) ?? SystemField.schemaNames[name] else { return nil }
        self = field
    }

    /// The names in `filterBy` and in text, for error messages.
    package var spellings: String { filterName == rawValue ? rawValue : "\(filterName) (\(rawValue))" }

    /// - Parameter name: The value of `systemFieldName`, which cannot mean an app's field.
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

    /// The value in the record dictionary; nil if it is missing.
    ///
    /// - Parameter record: `{"recordName":…,"created":{"timestamp":…,"userRecordName":…},…}`
    func value(in record: JSONValue?) -> JSONValue? {
        switch self {
        case .recordID: record?["recordName"]
        case .creationDate: record?["created"]?["timestamp"]
        case .modificationDate: record?["modified"]?["timestamp"]
        case .creatorUserRecordID: record?["created"]?["userRecordName"]
        case .lastModifiedUserRecordID: record?["modified"]?["userRecordName"]
        case .recordChangeTag: record?["recordChangeTag"]
        }
    }

    /// - Parameter save: The save of the record; nil for a deleted record, and if it is unknown.
    package func view(in record: JSONValue?, of save: RecordSave?) -> FieldView {
        guard let value = value(in: record) else { return save.map { view(of: $0) } ?? .nothing }
        if isReference { return value.isString ? .reference(value) : .nothing }
        return isDate == value.isNumber ? FieldView(scalar: value) : .nothing
    }

    private func view(of save: RecordSave) -> FieldView {
        switch self {
        case .modificationDate: .integer(save.milliseconds)
        case .creationDate: save.isCreate ? .integer(save.milliseconds) : .nothing
        case .lastModifiedUserRecordID: save.user.map { .reference($0) } ?? .nothing
        case .creatorUserRecordID: save.isCreate ? save.user.map { .reference($0) } ?? .nothing : .nothing
        case .recordID, .recordChangeTag: .nothing
        }
    }

    var isDate: Bool { self == .creationDate || self == .modificationDate }

    var isReference: Bool { self == .recordID || self == .creatorUserRecordID || self == .lastModifiedUserRecordID }
}
