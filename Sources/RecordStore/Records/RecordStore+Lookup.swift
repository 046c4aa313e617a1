import GRDB

extension RecordStore {
    /// The records with these names, in the order in which the names are given.
    ///
    /// - Returns: A record for each name; nil for a record that was deleted or never saved.
    /// - Throws: ``RecordReadError/zoneNotFound(_:)``; ``RecordReadError/answerTooLong(bytesMax:)``;
    ///   ``RecordReadError/store(_:)`` if the store cannot be read.
    package func records(
        named names: [String], in zone: ZoneKey = .defaultZone, of database: DatabaseID
    ) throws(RecordReadError) -> [StoredRecord?] {
        try readForClient { db in
            guard let found = try StoredZone.find(zone, in: database, db) else { return names.map { _ in nil } }
            let statement = try db.prepared(
                "SELECT \(RecordRow.sql) FROM records WHERE zone = ? AND name = ? AND fields IS NOT NULL")
            var bytes = 0
            return try names.map { name in
                try statement.first([.int(found.id), .text(name)]) { row in
                    let row = RecordRow(row: row)
                    bytes += row.fields.count
                    guard bytes <= answerBytesMax else { throw RecordReadError.answerTooLong(bytesMax: answerBytesMax) }
                    return row.record(in: found.key, of: database)
                }
            }
        }
    }
}
