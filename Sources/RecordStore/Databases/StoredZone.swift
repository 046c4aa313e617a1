import CloudKitModel
import GRDB

/// A zone that is not deleted, in the database that a read names. Clients' reads of records find their zones here, so
/// that no read reaches another database.
struct StoredZone {
    let id: Int64
    let key: ZoneKey

    /// The ID of a database's row; nil before the first zone of the database.
    static func database(_ database: DatabaseID, _ db: some SQLConnection) throws -> Int64? {
        try db.prepared(
            "SELECT id FROM databases WHERE container = ? AND environment = ? AND scope = ? AND owner = ?"
        ).first([
            .text(database.container), .text(database.environment.word.description),
            .text(database.scope.word.description), .text(database.owner ?? ""),
        ]) { $0.int(0) }
    }

    /// The zone with a key, if it is not deleted. Nil for a default zone that has no row yet: every database has a
    /// default zone, even if no event has named it.
    ///
    /// - Throws: ``RecordReadError/zoneNotFound(_:)`` for any other zone that does not exist.
    static func find(_ key: ZoneKey, in database: DatabaseID, _ db: some SQLConnection) throws -> StoredZone? {
        guard let stored = key.stored(in: database) else { throw RecordReadError.zoneNotFound(key) }
        if let id = try self.database(database, db), let zone = try find(stored, id, db) { return zone }
        guard stored.isDefault else { throw RecordReadError.zoneNotFound(key) }
        return nil
    }

    private static func find(_ key: ZoneKey, _ database: Int64, _ db: some SQLConnection) throws -> StoredZone? {
        try db.prepared("SELECT id FROM zones WHERE database = ? AND name = ? AND owner = ? AND deleted IS NULL").first(
            [
                .int(database), .text(key.name), .text(key.owner ?? ""),
            ]) { StoredZone(id: $0.int(0), key: key) }
    }

    /// The zones of a database that are not deleted, in the order of their names.
    ///
    /// - Parameter bytesMax: How many bytes the zones may have together in an answer.
    /// - Throws: ``RecordReadError/answerTooLong(bytesMax:)``.
    static func all(
        in database: DatabaseID, _ db: some SQLConnection, bytesMax: Int = .max
    ) throws -> [StoredZone] {
        guard let id = try self.database(database, db) else { return [] }
        var bytes = 0
        return try db.prepared(
            "SELECT id, name, owner FROM zones WHERE database = ? AND deleted IS NULL ORDER BY name, owner"
        ).all([.int(id)]) { row in
            bytes += row.bytes(1).count + row.bytes(2).count + bytesBesideNames
            guard bytes <= bytesMax else { throw RecordReadError.answerTooLong(bytesMax: bytesMax) }
            return StoredZone(id: row.int(0), key: ZoneKey(stored: row, 1))
        }
    }

    /// Approximately how many bytes a zone needs in an answer, in addition to its name and its owner.
    private static let bytesBesideNames = 64

    static func searched(by zones: RecordQuery.Zones, in database: DatabaseID, _ db: some SQLConnection) throws
        -> [StoredZone]
    {
        switch zones {
        case .all: try all(in: database, db)
        case .one(let key): try find(key, in: database, db).map { [$0] } ?? []
        }
    }
}

extension ZoneKey {
    /// - Parameter column: The column of the name. The column of the owner follows it.
    init(stored row: SQLRow, _ column: Int) {
        let owner = row.text(column + 1)
        self.init(name: row.text(column), owner: owner.isEmpty ? nil : owner)
    }
}
