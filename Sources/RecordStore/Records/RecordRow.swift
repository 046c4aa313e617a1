import JSON

/// The columns of a record's row, in the order of ``sql``.
struct RecordRow {
    static let sql = """
        id, zone, name, type, sequence, createdTime, createdBy, createdOn, modifiedTime, modifiedBy, modifiedOn, others, \
        fields, links
        """

    let row: SQLRow

    var id: Int64 { row.int(0) }
    var zone: Int64 { row.int(1) }
    var name: UnsafeRawBufferPointer { row.bytes(2) }
    var type: UnsafeRawBufferPointer { row.bytes(3) }
    var isDeleted: Bool { row.isNull(12) }
    /// JSON text; empty for a deleted record.
    var fields: UnsafeRawBufferPointer { row.bytes(12) }
    var links: RecordLinks.Kinds { RecordLinks.Kinds(rawValue: row.int(13)) }

    var created: RecordStamp {
        RecordStamp(milliseconds: row.int(5), user: row.textIfAny(6), device: row.textIfAny(7))
    }

    var system: SystemValues {
        SystemValues(
            name: row.text(2), sequence: row.sequence(4), created: created,
            modified: RecordStamp(milliseconds: row.int(8), user: row.textIfAny(9), device: row.textIfAny(10)))
    }

    func record(in zone: ZoneKey, of database: DatabaseID) -> StoredRecord {
        StoredRecord(
            database: database, zone: zone, type: row.text(3), system: system, others: row.textIfAny(11),
            fields: isDeleted ? nil : Array(fields), hasAssets: links.contains(.assets),
            namesAllTypes: links.contains(.types))
    }
}
