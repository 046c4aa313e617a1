import GRDB

/// Names a record that is not deleted.
package struct RecordAddress: Hashable, Sendable {
    package let database: DatabaseID
    package let zone: ZoneKey
    package let name: String
    /// The sequence of the record's newest save.
    package let sequence: UInt64
}

extension RecordStore {
    /// The records that are not deleted, but have a broken DELETE_SELF reference: the target or its zone was deleted
    /// after the reference was saved, and the target was not saved again. These records must be deleted too. All
    /// databases are searched. The oldest records come first.
    package func recordsWithBrokenReferences(limit: Int = 200) throws(RecordStoreError) -> [RecordAddress] {
        try read { db in
            try db.prepared(
                """
                SELECT \(RecordAddress.columns) FROM \(RecordAddress.tables)
                WHERE r.id IN (SELECT record FROM deleteReferences WHERE isBroken = 1) ORDER BY r.id LIMIT ?
                """
            ).all([.int(Int64(limit))], RecordAddress.init).compactMap { $0 }
        }
    }

    /// The records that are not deleted and have a DELETE_SELF reference to the named record. These records must be
    /// deleted after the named record is deleted. The oldest records come first.
    package func dependents(
        of name: String, in zone: ZoneKey, of database: DatabaseID, limit: Int = 1_000
    ) throws(RecordReadError) -> [RecordAddress] {
        try readForClient { db in
            guard let id = try StoredZone.database(database, db), let zone = zone.stored(in: database) else {
                return []
            }
            return try db.prepared(
                """
                SELECT \(RecordAddress.columns) FROM \(RecordAddress.tables) JOIN deleteReferences f ON f.record = r.id
                WHERE f.database = ? AND f.target = ? ORDER BY r.id LIMIT ?
                """
            ).all([.int(id), .blob(RecordTarget.bytes(zone, name)), .int(Int64(limit))], RecordAddress.init)
                .compactMap { $0 }
        }
    }

    /// How many records have a DELETE_SELF reference to the named record, but at most `countMax`. Deleted records do not
    /// count.
    package func sourceCount(
        of name: String, in zone: ZoneKey, of database: DatabaseID, countMax: Int, within limit: ReadLimit = .none
    ) throws(RecordReadError) -> Int {
        try readForClient(within: limit) { db in
            guard let id = try StoredZone.database(database, db), let zone = zone.stored(in: database) else { return 0 }
            return try db.prepared(
                """
                SELECT count(*) FROM (SELECT 1 FROM \(RecordAddress.tables) JOIN deleteReferences f ON f.record = r.id
                    WHERE f.database = ? AND f.target = ? LIMIT ?)
                """
            ).first([.int(id), .blob(RecordTarget.bytes(zone, name)), .int(Int64(countMax))]) { Int($0.int(0)) } ?? 0
        }
    }

    /// The records among the given ones that have a DELETE_SELF reference to the named record. Deleted records are left
    /// out.
    package func sources(
        of name: String, in zone: ZoneKey, of database: DatabaseID, among records: [(zone: ZoneKey, name: String)],
        within limit: ReadLimit = .none
    ) throws(RecordReadError) -> [RecordAddress] {
        try readForClient(within: limit) { db in
            guard let id = try StoredZone.database(database, db), let zone = zone.stored(in: database) else {
                return []
            }
            let target = SQLValue.blob(RecordTarget.bytes(zone, name))
            let find = try db.prepared(
                """
                SELECT \(RecordAddress.columns) FROM zones z JOIN databases d ON d.id = z.database
                    JOIN records r ON r.zone = z.id JOIN deleteReferences f ON f.record = r.id
                WHERE z.database = ? AND z.name = ? AND z.owner = ? AND z.deleted IS NULL AND r.name = ?
                    AND f.database = z.database AND f.target = ?
                """)
            return try records.compactMap { record in
                guard let zone = record.zone.stored(in: database) else { return nil }
                return try find.first(
                    [.int(id), .text(zone.name), .text(zone.owner ?? ""), .text(record.name), target],
                    RecordAddress.init) ?? nil
            }
        }
    }

    // MARK: Assets

    /// How many records refer to an asset, in all databases. Deleted records do not count.
    package func referenceCount(ofAsset checksum: String) throws(RecordStoreError) -> Int {
        try read { db in
            try db.prepared(
                "SELECT count(*) FROM assets a JOIN zones z ON z.id = a.zone AND z.deleted IS NULL WHERE a.checksum = ?"
            ).first([.text(checksum)]) { Int($0.int(0)) } ?? 0
        }
    }

    /// The given checksums without those that a record refers to. References of deleted records do not count. A client
    /// may still save a record that refers to one of the returned checksums.
    package func unreferencedAssets(among checksums: [String]) throws(RecordStoreError) -> [String] {
        try read { db in
            let find = try db.prepared(
                "SELECT 1 FROM assets a JOIN zones z ON z.id = a.zone AND z.deleted IS NULL WHERE a.checksum = ? LIMIT 1"
            )
            return try checksums.filter { try find.first([.text($0)]) { _ in true } == nil }
        }
    }

    /// Whether any record of the database refers to the asset, apart from deleted records. Only then may a reader of
    /// the database get the asset's file.
    package func hasAsset(_ checksum: String, in database: DatabaseID) throws(RecordStoreError) -> Bool {
        try read { db in
            guard let id = try StoredZone.database(database, db) else { return false }
            return try db.prepared(
                """
                SELECT 1 FROM assets a JOIN zones z ON z.id = a.zone AND z.deleted IS NULL
                WHERE a.checksum = ? AND z.database = ? LIMIT 1
                """
            ).first([.text(checksum), .int(id)]) { _ in true } ?? false
        }
    }
}

extension RecordAddress {
    fileprivate static let columns =
        "d.container, d.environment, d.scope, d.owner, z.name, z.owner, r.name, r.sequence"
    fileprivate static let tables = """
        records r JOIN zones z ON z.id = r.zone AND z.deleted IS NULL JOIN databases d ON d.id = z.database
        """

    fileprivate init?(_ row: SQLRow) {
        guard let database = DatabaseID(row) else { return nil }
        self.init(
            database: database, zone: ZoneKey(stored: row, 4), name: row.text(6), sequence: row.sequence(7))
    }
}
