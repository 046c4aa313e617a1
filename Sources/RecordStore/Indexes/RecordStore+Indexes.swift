import GRDB

/// An index that queries asked for.
package struct FieldIndexReport: Hashable, Sendable {
    package let database: DatabaseID
    package let zone: ZoneKey
    package let recordType: String
    /// The field's name, or the names of two fields, as in `topic,priority`. The name of a system field begins with an
    /// underscore.
    package let field: String
    /// False while the index is being built. Queries do not use it until it is complete.
    package let isComplete: Bool
}

extension RecordStore {
    /// All indexes of zones that are not deleted, sorted by database, zone, type and field.
    package func indexes() throws(RecordStoreError) -> [FieldIndexReport] {
        try read { db in
            try db.prepared(
                """
                SELECT d.container, d.environment, d.scope, d.owner, z.name, z.owner, i.type, i.field, i.builtTo
                FROM fieldIndexes i JOIN zones z ON z.id = i.zone AND z.deleted IS NULL
                JOIN databases d ON d.id = z.database ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
                """
            ).all { row in
                DatabaseID(row).map {
                    FieldIndexReport(
                        database: $0, zone: ZoneKey(stored: row, 4), recordType: row.text(6), field: row.text(7),
                        isComplete: row.int(8) == StoredIndex.complete)
                }
            }.compactMap { $0 }
        }
    }
}
