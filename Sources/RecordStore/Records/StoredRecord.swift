import CloudKitModel

/// When and by whom a record was created or modified.
package struct RecordStamp: Hashable, Sendable {
    /// The time in milliseconds since 1970.
    package var milliseconds: Int64
    /// The user of the event's `origin`, or else the owner of the database; nil if the event names neither.
    package var user: String?
    package var device: String?
}

/// The values of a record's system fields. The store keeps them apart from the fields of the app.
struct SystemValues: Hashable, Sendable {
    var name: String
    /// The sequence of the newest save or delete.
    var sequence: UInt64
    var created: RecordStamp
    var modified: RecordStamp
}

/// A record as it is now, or the trace of a deleted record.
package struct StoredRecord: Hashable, Sendable {
    package let database: DatabaseID
    package let zone: ZoneKey
    package let type: String
    let system: SystemValues
    /// Members of the record dictionary that Belfry does not use, as JSON: `"parent":{…},"share":{…}`. Nil if
    /// the record has no such members.
    let others: String?
    /// JSON text of the fields, as in the event; nil for a deleted record.
    package let fields: [UInt8]?
    let hasAssets: Bool
    /// Whether each field names its type.
    let namesAllTypes: Bool

    package var name: String { system.name }
    package var isDeleted: Bool { fields == nil }
    /// The sequence of the newest save, or of a deleted record's delete.
    package var sequence: UInt64 { system.sequence }
    package var changeTag: ChangeTag { ChangeTag(sequence: sequence) }
    package var created: RecordStamp { system.created }
    package var modified: RecordStamp { system.modified }
}
