import Predicates

/// When a search asks for an index or changes its method, and how many indexes there may be. The results do not depend
/// on these limits.
package struct SearchLimits: Sendable {
    /// A search of one zone that looks at more rows than this asks for an index.
    var rowsWithoutIndex = 1_000
    /// If an index on a compared field finds at most this many records, they are sorted in memory, even if the index
    /// on the first sort key has the wanted order.
    var rowsToSort = 2_000
    /// How many record IDs a search may keep in memory. An index on a compared field is not used if it leaves more
    /// records than this.
    var candidatesInMemory = 50_000
    /// How many indexes a type in one zone may have. Each save of a record changes the entries of all of them.
    var indexesOfTypeMax = 32
    /// How many indexes one database may have, so that one user's indexes do not use up the limit of the whole store.
    var indexesOfDatabaseMax = 500
    /// How many indexes one search may ask for.
    var indexesOfSearchMax = 4

    package init() {}
}

/// Finds the first matching records of one zone.
struct ZoneSearch {
    let db: ReadConnection
    let query: RecordQuery
    let zone: Int64
    let now: Int64
    let limits: SearchLimits
    /// The IDs of the complete indexes on the record type.
    let indexIDs: [FieldIndex: Int64]
    private let recordByID: PreparedStatement
    /// The number of records and index entries that the search has read.
    private var examined = 0

    /// A comparison that can use an index, and about how many records the index leaves.
    struct Comparison {
        let index: Int64
        let subject: Clause.Subject
        let ranges: [KeyRange]
        let count: Int
    }

    /// The part of an index to walk along, in the order of the query's first key.
    struct Walk {
        let index: Int64
        /// The bytes with which the keys of this part begin: empty for the whole index.
        var prefix: [UInt8] = []
        /// The IDs of the records to look at; nil for all records of this part.
        var candidates: [Int64]?
    }

    init(_ query: RecordQuery, zone: Int64, now: Int64, _ limits: SearchLimits, _ db: ReadConnection) throws {
        (self.db, self.query, self.zone, self.now, self.limits) = (db, query, zone, now, limits)
        let known = try StoredIndex.all(zone: zone, type: query.recordType, db)
        indexIDs = Dictionary(known.filter(\.isComplete).map { ($0.index, $0.id) }) { first, _ in first }
        recordByID = try db.prepared(
            "SELECT \(RecordRow.sql) FROM records WHERE id = ? AND zone = ? AND fields IS NOT NULL")
    }

    /// Looks for matching records, and offers their positions to `found`.
    ///
    /// - Parameter missing: If the search looked at many rows or took too long, the missing indexes that would have
    ///   made it faster are appended.
    mutating func run(
        with matcher: inout RecordMatcher, into found: inout FirstPositions, _ missing: inout [FieldIndex]
    ) throws {
        let narrowest = try narrowest()
        let lacking = try obtainableIndexes(narrowest)
        defer {
            if examined > limits.rowsWithoutIndex || db.stop == .tookTooLong { missing += lacking }
        }
        if let narrowest, !walksInstead(of: narrowest) {
            try look(at: candidates(narrowest), &matcher, &found)
        } else if let walk = try bestWalk(narrowest) {
            try self.walk(walk, &matcher, &found)
        } else {
            try scan(&matcher, &found)
        }
    }

    /// Looks at the records of the type, in the order of their creation. If the query has sort keys, looks at all of
    /// these records. Otherwise begins after the marker and ends when enough records are found.
    private mutating func scan(_ matcher: inout RecordMatcher, _ found: inout FirstPositions) throws {
        let start = query.sort.isEmpty ? found.start?.id ?? 0 : 0
        try db.prepared(
            """
            SELECT \(RecordRow.sql) FROM records WHERE zone = ? AND type = ? AND fields IS NOT NULL AND id > ?
                ORDER BY id
            """
        ).each([.int(zone), .text(query.recordType), .int(start)]) { row in
            let record = RecordRow(row: row)
            if query.sort.isEmpty, found.isClosed(toFirstKey: [], id: record.id) { return false }
            try offer(record, &matcher, &found)
            return true
        }
    }

    /// Looks at the records with these IDs, in the order of the IDs.
    private mutating func look(
        at candidates: [Int64], _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        for number in candidates {
            if query.sort.isEmpty {
                if let start = found.start?.id, number <= start { continue }
                if found.isClosed(toFirstKey: [], id: number) { return }
            }
            try look(at: number, &matcher, &found)
        }
    }

    /// Looks at the records of a part of an index, in the order of the first sort key. If the walk has candidates and
    /// reads too many entries, it gives up. Then all candidates are looked at and sorted.
    private mutating func walk(
        _ walk: Walk, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        let isAscending = query.order.isAscending
        let (key, id) = walkStart(found.start, isAscending)
        let sign = isAscending ? (">", "key, record") : ("<", "key DESC, record DESC")
        let (before, last) = (found, walk.candidates.map { examined + 2 * $0.count + limits.rowsToSort })
        var givesUp = false
        try db.prepared(
            """
            SELECT key, record FROM fieldEntries WHERE list = ? AND (key, record) \(sign.0) (?, ?) ORDER BY \(sign.1)
            """
        ).each([.int(walk.index), .blob(walk.prefix + key), .int(id)]) { row in
            let (key, number) = (row.bytes(0), row.int(1))
            guard key.starts(with: walk.prefix) else { return false }
            if found.isClosed(toFirstKey: Array(key.dropFirst(walk.prefix.count)), id: number) { return false }
            examined += 1
            givesUp = last.map { examined > $0 } ?? false
            if givesUp { return false }
            if let candidates = walk.candidates, !candidates.sortedContains(number) { return true }
            try look(at: number, &matcher, &found)
            return true
        }
        guard givesUp, let candidates = walk.candidates else { return }
        found = before
        try look(at: candidates, &matcher, &found)
    }

    /// The entry after which reading the index begins. Without a marker, reading begins at the first entry. With one
    /// sort key, reading begins after the marker's entry. With more sort keys, reading begins before all entries with
    /// the marker's first key, because the other keys may put the records of these entries after the marker.
    private func walkStart(_ start: RecordPosition?, _ isAscending: Bool) -> ([UInt8], Int64) {
        guard let start else { return isAscending ? ([], .min) : ([0xFF], .max) }
        guard query.sort.count > 1 else { return (start.keys[0], start.id) }
        return (start.keys[0], isAscending ? .min : .max)
    }

    private mutating func look(
        at number: Int64, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        try recordByID.each([.int(number), .int(zone)]) {
            try offer(RecordRow(row: $0), &matcher, &found)
            return true
        }
    }

    private mutating func offer(
        _ record: RecordRow, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        examined += 1
        if let position = try matcher.position(of: record) { found.offer(position) }
    }
}

extension [Int64] {
    /// Whether an array that is in ascending order contains the number.
    fileprivate func sortedContains(_ number: Int64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == number
    }
}
