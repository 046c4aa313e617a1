import GRDB

/// The content of a store's file, for the operator. It can be read while a gateway uses the store.
package struct StoreSummary: Hashable, Sendable {
    /// An index on one or two fields, each a field of the app or a system field. The gateway makes the index after a
    /// query first needed it.
    package struct Index: Hashable, Sendable {
        package let recordType: String
        /// The name of the field, or both names with a comma between them. The name of a system field begins with an
        /// underscore.
        package let field: String
        /// The zone's database, such as `private _alice`.
        package let database: String
        package let zone: String
        /// The share of the zone's records of this type that the index covers, from 0 to 1. It is approximate.
        package let share: Double
        package var isComplete: Bool { share == 1 }
    }

    package let path: String
    /// The identity of the log from which the store is made.
    package let log: String
    /// The sequence of the last event in the store.
    package let applied: UInt64
    /// The number of records that are not deleted.
    package let records: Int
    /// The number of zones that are not deleted. A default zone counts after its first record was saved.
    package let zones: Int
    /// The size of the store's file and of the files that SQLite keeps beside it. While a gateway runs, the newest
    /// changes are only in these other files.
    package let bytes: UInt64
    /// The indexes of zones that are not deleted, in the order in which the gateway added them.
    package let indexes: [Index]

    /// - Throws: ``RecordStoreError`` if the file cannot be read or is not a store of this version.
    package init(path: String) throws(RecordStoreError) {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            self = try queue.read { db in
                try Schema.check(db, path: path)
                return try StoreSummary(path: path, db)
            }
            try queue.close()
        } catch { throw RecordStoreError(error, path: path) }
    }

    private init(path: String, _ db: Database) throws {
        func count(_ sql: String) throws -> Int { Int(try db.prepared(sql).first { $0.int(0) } ?? 0) }
        self.path = path
        log = try Facts.text(.log, db) ?? ""
        applied = try RecordStore.Applied(db).sequence
        records = try count(
            """
            SELECT count(*) FROM records r JOIN zones z ON z.id = r.zone AND z.deleted IS NULL WHERE r.fields IS NOT NULL
            """)
        zones = try count("SELECT count(*) FROM zones WHERE deleted IS NULL")
        indexes = try Self.indexes(db)
        bytes = StoreFiles.size(path)
    }

    private static func indexes(_ db: Database) throws -> [Index] {
        try db.prepared(
            """
            SELECT i.type, i.field, d.scope, d.owner, z.name, i.builtTo,
                (SELECT max(id) FROM records r WHERE r.zone = i.zone AND r.type = i.type AND r.fields IS NOT NULL)
            FROM fieldIndexes i JOIN zones z ON z.id = i.zone AND z.deleted IS NULL JOIN databases d ON d.id = z.database
            ORDER BY i.id
            """
        ).all { row in
            let (built, last, owner) = (row.int(5), row.int(6), row.text(3))
            return Index(
                recordType: row.text(0), field: row.text(1),
                database: row.text(2) + (owner.isEmpty ? "" : " \(owner)"), zone: row.text(4),
                share: built == StoredIndex.complete || last <= built ? 1 : Double(built) / Double(last))
        }
    }
}
