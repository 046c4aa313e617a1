import GRDB
import Time

extension RecordStore {
    /// Runs a query.
    ///
    /// Matching records come in the order of `sortBy`: see ``OrderKey`` for values of several types and for records
    /// without the field. Records with equal keys, and all records of a query without `sortBy`, come in the order of
    /// their creation. If the first key is descending, records with equal keys come in the opposite order. A page ends
    /// early if the next record would make it too large, but not before its first record.
    ///
    /// - Parameter now: The value of `now()` in predicates.
    /// - Throws: ``RecordReadError/zoneNotFound(_:)``; ``RecordReadError/badQuery(_:)`` if the marker does not belong
    ///   to the query; ``RecordReadError/cancelled`` and ``RecordReadError/tookTooLong(lacksIndex:)`` if the limit
    ///   stops the read; ``RecordReadError/store(_:)`` if the store cannot be read.
    package func query(
        _ query: RecordQuery, in database: DatabaseID, now: Instant, within limit: ReadLimit = .none
    ) throws(RecordReadError) -> QueryPage {
        var start: RecordPosition?
        if let marker = query.marker {
            start = QueryMarker.position(marker, of: query, in: database)
            guard start != nil else { throw .badQuery(.marker) }
        }
        var missingIndexes: [FieldIndex] = []
        defer { request(missingIndexes) }
        do {
            return try readForClient(within: limit) { db in
                let zones = try StoredZone.searched(by: query.zones, in: database, db)
                let run = try QueryRun(
                    query, zones, after: start, now: now.microseconds / 1_000, searchLimits, &missingIndexes, db)
                return try run.page(in: database, bytesMax: answerBytesMax, db)
            }
        } catch .tookTooLong { throw .tookTooLong(lacksIndex: !missingIndexes.isEmpty) }
    }

    private static let wantedIndexesMax = 1_000

    /// Asks the writer to build indexes.
    private func request(_ indexes: [FieldIndex]) {
        guard !indexes.isEmpty else { return }
        wantedIndexes.withLock { wanted in
            for index in indexes where wanted.count < RecordStore.wantedIndexesMax { wanted.insert(index) }
        }
    }
}

/// The records that a query found, in order.
private struct QueryRun {
    let query: RecordQuery
    let zones: [Int64: ZoneKey]
    let positions: [RecordPosition]

    /// - Parameter missing: Gets the indexes that would have made the query faster, also if the query fails.
    init(
        _ query: RecordQuery, _ zones: [StoredZone], after start: RecordPosition?, now: Int64, _ limits: SearchLimits,
        _ missing: inout [FieldIndex], _ db: ReadConnection
    ) throws {
        (self.query, self.zones) = (query, Dictionary(zones.map { ($0.id, $0.key) }) { first, _ in first })
        // One record more than wanted shows whether there is another page.
        var found = FirstPositions(query.order, limit: query.limit + 1, after: start)
        var matcher = RecordMatcher(query, now: now, db)
        for zone in zones where !query.predicate.isNever {
            var search = try ZoneSearch(query, zone: zone.id, now: now, limits, db)
            try search.run(with: &matcher, into: &found, &missing)
        }
        positions = found.positions
    }

    func page(in database: DatabaseID, bytesMax: Int, _ db: ReadConnection) throws -> QueryPage {
        var shown = positions.prefix(query.limit)
        let statement = try db.prepared("SELECT \(RecordRow.sql) FROM records WHERE id = ?")
        var (records, bytes): ([StoredRecord], Int) = ([], 0)
        for (index, position) in shown.enumerated() {
            let record = try statement.first([.int(position.id)]) { row in
                let record = RecordRow(row: row)
                bytes += record.fields.count
                return zones[record.zone].map { record.record(in: $0, of: database) }
            }
            if bytes > bytesMax, index > 0 {
                shown = positions.prefix(index)
                break
            }
            if case let record?? = record { records.append(record) }
        }
        let last = positions.count > shown.count ? shown.last : nil
        return QueryPage(records: records, marker: last.map { QueryMarker.text($0, of: query, in: database) })
    }
}
