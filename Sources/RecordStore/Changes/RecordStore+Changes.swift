import GRDB

extension RecordStore {
    /// CloudKit Web Services: at most 200 records in an answer.
    package static let changesMax = 200
    /// The maximum number of rows that one read looks at, including rows of types that the client does not want.
    private static let rowsMax = 5_000

    /// The records that changed in a zone since a token, in the order of their newest changes.
    ///
    /// - Parameters:
    ///   - token: Nil for all records of the zone that are not deleted.
    ///   - bytesMax: The most bytes that the fields on one page may have together. A record with more bytes has a page
    ///     of its own. Nil for ``answerBytesMax``.
    ///   - recordTypes: `desiredRecordTypes`; nil for all.
    ///   - isReverse: Whether the newest changes come first. The token of the last page then leads to changes that came
    ///     after the first page.
    /// - Throws: ``RecordReadError`` for a zone that does not exist, for an invalid or expired token, if `readLimit`
    ///   stops the read, or if the store cannot be read.
    package func changes(
        of zone: ZoneKey, in database: DatabaseID, since token: String?, limit: Int = changesMax, bytesMax: Int? = nil,
        recordTypes: Set<String>? = nil, isReverse: Bool = false, within readLimit: ReadLimit = .none
    ) throws(RecordReadError) -> ChangesPage {
        try readForClient(within: readLimit) { db in
            let found = try StoredZone.find(zone, in: database, db)
            let key = found?.key ?? zone.stored(in: database) ?? zone
            let from = try start(token, key, database, madeAt: key.isDefault ? nil : found?.id, db)
            var read = ChangesRead(from: from, applied: try Applied(db).sequence, isReverse: isReverse)
            var (records, bytes): ([StoredRecord], Int) = ([], 0)
            if let found {
                try read.rows(of: found.id, limit: RecordStore.rowsMax, db) { row in
                    try db.spend(row.fields.count)
                    if records.count == min(limit, RecordStore.changesMax) { return false }
                    let record = row.record(in: key, of: database)
                    guard recordTypes?.contains(record.type) ?? true else { return true }
                    bytes += row.fields.count
                    if bytes > bytesMax ?? answerBytesMax, !records.isEmpty { return false }
                    records.append(record)
                    return true
                }
            }
            return ChangesPage(
                records: records, token: read.next.text(for: key, in: database), moreComing: read.moreComing)
        }
    }

    /// The zones that changed in a database since a token. The default zone is always left out, as in CloudKit
    /// (CKDatabaseSubscription).
    ///
    /// - Parameter token: Nil for all zones that are not deleted.
    package func databaseChanges(
        in database: DatabaseID, since token: String?, limit: Int = changesMax, within readLimit: ReadLimit = .none
    ) throws(RecordReadError) -> DatabaseChangesPage {
        try readForClient(within: readLimit) { db in
            let from = try start(token, nil, database, madeAt: nil, db)
            var next = ChangeToken(log: log, position: from.position, began: from.began)
            let rows = try changedZones(database, from, limit: min(limit, RecordStore.changesMax) + 1, db)
            let shown = rows.prefix(min(limit, RecordStore.changesMax))
            let hasMore = rows.count > shown.count
            if let last = shown.last { next.position = last.changed }
            if !hasMore { next = ChangeToken(log: log, position: try Applied(db).sequence) }
            return DatabaseChangesPage(
                zones: shown.map(\.zone), token: next.text(for: nil, in: database), moreComing: hasMore)
        }
    }

    /// The token of a client that has all changes up to now. Outside the public database, the answers to
    /// `records/query` and `records/lookup` have it as their `syncToken`, if the request asks for it.
    ///
    /// - Parameter zone: Nil for the whole database.
    package func changeToken(of zone: ZoneKey?, in database: DatabaseID) throws(RecordReadError) -> String {
        try readForClient { db in
            let key = try zone.map { try StoredZone.find($0, in: database, db)?.key ?? .defaultZone }
            return ChangeToken(log: log, position: try Applied(db).sequence).text(for: key, in: database)
        }
    }

    private func changedZones(
        _ database: DatabaseID, _ from: ChangeToken, limit: Int, _ db: some SQLConnection
    ) throws -> [(zone: DatabaseChangesPage.Zone, changed: UInt64)] {
        guard let id = try StoredZone.database(database, db) else { return [] }
        return try db.prepared(
            """
            SELECT name, owner, deleted IS NOT NULL, changed FROM zones
            WHERE database = ? AND changed > ? AND (deleted IS NULL OR (isReplaced = 0 AND deleted > ?)) AND name != ?
            ORDER BY changed LIMIT ?
            """
        ).all([
            .int(id), .sequence(from.position), .sequence(from.settled), .text(ZoneKey.defaultZone.name),
            .int(Int64(limit)),
        ]) { row in
            (.init(key: ZoneKey(stored: row, 0), isDeleted: row.int(2) == 1), row.sequence(3))
        }
    }

    // MARK: Tokens

    /// Checks a client's token.
    ///
    /// - Parameter made: The sequence of the event that made the zone; nil for the default zone and for a database.
    /// - Returns: The token; for a client without a token, a token at the beginning of the log.
    private func start(
        _ text: String?, _ zone: ZoneKey?, _ database: DatabaseID, madeAt made: Int64?, _ db: some SQLConnection
    ) throws -> ChangeToken {
        let applied = try Applied(db).sequence
        guard let text else { return ChangeToken(log: log, position: 0, began: applied) }
        guard let token = ChangeToken(text, for: zone, in: database) else { throw RecordReadError.badToken }
        let newest = max(token.settled, token.reverse?.top ?? 0)
        if token.log != log { throw RecordReadError.tokenExpired(.otherLog) }
        if newest > applied { throw RecordReadError.tokenExpired(.ahead) }
        if let made, newest < UInt64(made) { throw RecordReadError.tokenExpired(.newZone) }
        guard token.settled >= UInt64(try Facts.number(.floor, db)) else {
            throw RecordReadError.tokenExpired(.tooOld)
        }
        return token
    }
}
