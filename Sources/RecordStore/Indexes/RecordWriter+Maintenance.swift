import GRDB
import Predicates

extension RecordWriter {
    /// The largest number of indexes in one store.
    private static let indexesMax = 10_000

    /// Does a part of the work that no event needs: builds indexes that queries asked for, and removes the rows of
    /// deleted zones and of old deletions (see ``forget(before:)``). Call the function again, between events, while it
    /// returns true.
    ///
    /// - Parameter rowsMax: How many records or index entries one call reads or removes at most, which limits the time
    ///   of the call.
    /// - Returns: Whether more work may be left.
    @discardableResult
    package func doMaintenance(rowsMax: Int = 1_000) throws(RecordStoreError) -> Bool {
        let wanted = store.wantedIndexes.withLock { wanted in
            defer { wanted = [] }
            return wanted
        }
        return try transaction { db in
            try add(wanted, db)
            if let index = indexes.unfinished { return try build(index, rowsMax, db) }
            if try removeDeletedZone(rowsMax, db) { return true }
            return try removeTombstones(rowsMax, db)
        }
    }

    /// Allows the store to forget the deletions before a sequence. A change token expires at once if its client may
    /// have missed some of these deletions. Later, ``doMaintenance(rowsMax:)`` removes the rows of these deletions.
    package func forget(before sequence: UInt64) throws(RecordStoreError) {
        try transaction { db in
            let applied = try Facts.number(.applied, db)
            let floor = max(try Facts.number(.floor, db), min(Int64(sequence) - 1, applied))
            try Facts.set(.floor, .int(floor), db)
        }
    }

    // MARK: Indexes

    /// Adds empty indexes, as long as the store, the database and the type have fewer than they may have.
    private func add(_ wanted: Set<FieldIndex>, _ db: Database) throws {
        guard !wanted.isEmpty else { return }
        try indexes.load(db)
        for index in wanted.prefix(RecordWriter.indexesMax - indexes.count) {
            guard try store.searchLimits.allowMoreIndexes(on: index.type, in: index.zone, db) else { continue }
            try db.prepared("INSERT OR IGNORE INTO fieldIndexes(zone, type, field) VALUES (?, ?, ?)").run([
                .int(index.zone), .text(index.type), .text(index.name),
            ])
        }
        indexes.invalidate()
        try indexes.load(db)
    }

    /// Adds the next records to an index. Until the index is complete, events update only the entries of records that
    /// are already in the index.
    private func build(_ stored: StoredIndex, _ rowsMax: Int, _ db: Database) throws -> Bool {
        let add = try statements(db).addEntry
        var (last, count) = (stored.builtTo, 0)
        try db.prepared(
            """
            SELECT \(RecordRow.sql) FROM records WHERE zone = ? AND type = ? AND fields IS NOT NULL AND id > ?
                ORDER BY id LIMIT ?
            """
        ).each([.int(stored.index.zone), .text(stored.index.type), .int(last), .int(Int64(rowsMax))]) { row in
            let record = RecordRow(row: row)
            let key = stored.index.key(try storedFieldsParser.parse(record.fields), record.system)
            try add.run(stored.entry(key, record.id))
            (last, count) = (record.id, count + 1)
            return true
        }
        try db.prepared("UPDATE fieldIndexes SET builtTo = ? WHERE id = ?").run([
            .int(count < rowsMax ? StoredIndex.complete : last), .int(stored.id),
        ])
        indexes.invalidate()
        return true
    }

    // MARK: Deletions

    private func removeDeletedZone(_ rowsMax: Int, _ db: Database) throws -> Bool {
        let floor = try Facts.number(.floor, db)
        let next = try db.prepared(
            """
            SELECT id FROM zones WHERE deleted IS NOT NULL AND (
                isReplaced = 1 OR deleted <= ? OR EXISTS (SELECT 1 FROM records WHERE zone = zones.id)
                OR EXISTS (SELECT 1 FROM fieldIndexes WHERE zone = zones.id)) LIMIT 1
            """
        ).first([.int(floor)]) { $0.int(0) }
        guard let zone = next else { return false }
        if try removeIndexes(of: zone, rowsMax, db) { return true }
        if try removeRecords(of: zone, rowsMax, db) { return true }
        try db.prepared("DELETE FROM zones WHERE id = ? AND (isReplaced = 1 OR deleted <= ?)").run([
            .int(zone), .int(floor),
        ])
        return true
    }

    /// - Returns: Whether there was an index.
    private func removeIndexes(of zone: Int64, _ rowsMax: Int, _ db: Database) throws -> Bool {
        guard let index = indexes.byZone[zone]?.first else { return false }
        try db.prepared(
            """
            DELETE FROM fieldEntries WHERE (list, key, record) IN
                (SELECT list, key, record FROM fieldEntries WHERE list = ? LIMIT ?)
            """
        ).run([.int(index.id), .int(Int64(rowsMax))])
        guard db.changesCount < rowsMax else { return true }
        try db.prepared("DELETE FROM fieldIndexes WHERE id = ?").run([.int(index.id)])
        indexes.invalidate()
        return true
    }

    /// - Returns: Whether there were records.
    private func removeRecords(of zone: Int64, _ rowsMax: Int, _ db: Database) throws -> Bool {
        let ids = try db.prepared("SELECT id, links FROM records WHERE zone = ? LIMIT ?").all([
            .int(zone), .int(Int64(rowsMax)),
        ]) { (id: $0.int(0), links: RecordLinks.Kinds(rawValue: $0.int(1))) }
        let statements = try statements(db)
        for record in ids {
            if record.links.hasLinks {
                try statements.removeReferences.run([.int(record.id)])
                try statements.removeAssets.run([.int(record.id)])
            }
            try statements.removeRecord.run([.int(record.id)])
        }
        return !ids.isEmpty
    }

    private func removeTombstones(_ rowsMax: Int, _ db: Database) throws -> Bool {
        try db.prepared(
            """
            DELETE FROM records WHERE id IN
                (SELECT id FROM records WHERE fields IS NULL AND sequence <= ? ORDER BY sequence LIMIT ?)
            """
        ).run([.int(try Facts.number(.floor, db)), .int(Int64(rowsMax))])
        return db.changesCount == rowsMax
    }
}
