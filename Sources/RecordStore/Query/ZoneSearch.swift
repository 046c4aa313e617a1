import GRDB
import Predicates

/// The numbers of rows at which a search asks for an index or changes its method. The results do not depend on these
/// limits.
package struct SearchLimits: Sendable {
    /// A search of one zone that looks at more rows than this asks for an index.
    var rowsWithoutIndex = 1_000
    /// If an index on a compared field finds at most this many records, they are sorted in memory, even if another
    /// index has the wanted order.
    var rowsToSort = 2_000
    /// How many record IDs a search may keep in memory. An index on a compared field is not used if it leaves more
    /// records than this.
    var candidatesInMemory = 50_000

    package init() {}
}

/// Finds the first matching records of one zone.
struct ZoneSearch {
    let db: Database
    let query: RecordQuery
    let zone: Int64
    let now: Int64
    private let limits: SearchLimits
    /// The IDs of the complete indexes on the record type, by the subject of each index.
    private let indexIDs: [Clause.Subject: Int64]
    private var examined = 0

    init(_ query: RecordQuery, zone: Int64, now: Int64, _ limits: SearchLimits, _ db: Database) throws {
        (self.db, self.query, self.zone, self.now, self.limits) = (db, query, zone, now, limits)
        let known = try StoredIndex.all(zone: zone, type: query.recordType, db).filter(\.isComplete)
        indexIDs = Dictionary(known.map { ($0.index.subject, $0.id) }) { first, _ in first }
    }

    /// Looks for matching records, and offers their positions to `found`.
    ///
    /// - Returns: The missing indexes that would have made the search faster. Empty if no index is missing, or if the
    ///   search looked at few rows.
    mutating func run(with matcher: inout RecordMatcher, into found: inout FirstPositions) throws -> [FieldIndex] {
        let candidates = try narrowest()
        if let index = sortIndex, candidates.map({ $0.count > limits.rowsToSort }) ?? true {
            try walk(index, among: candidates, &matcher, &found)
        } else if let candidates {
            try look(at: candidates, &matcher, &found)
        } else {
            try scan(&matcher, &found)
        }
        return examined > limits.rowsWithoutIndex ? missingIndexes : []
    }

    // MARK: Indexes

    /// The index that has the records in the order of the query's first key.
    private var sortIndex: Int64? {
        guard let first = query.sort.first, first.centre == nil else { return nil }
        return indexIDs[first.subject]
    }

    /// The indexes that this search could use, but that do not exist or are not complete.
    private var missingIndexes: [FieldIndex] {
        var subjects = query.predicate.clauses.filter { KeyRange.ranges($0, now: now) != nil }.map(\.subject)
        if let first = query.sort.first, first.centre == nil { subjects.append(first.subject) }
        return subjects.filter { indexIDs[$0] == nil }.map {
            FieldIndex(zone: zone, type: query.recordType, subject: $0)
        }
    }

    /// The IDs of the records that the most selective comparison leaves, in ascending order. Nil if no comparison can
    /// use an index, or if each that can leaves more than ``SearchLimits/candidatesInMemory`` records.
    private func narrowest() throws -> [Int64]? {
        var best: (count: Int, index: Int64, ranges: [KeyRange])?
        for clause in query.predicate.clauses {
            guard let index = indexIDs[clause.subject], let ranges = KeyRange.ranges(clause, now: now) else { continue }
            let count = try count(ranges, index, upTo: best?.count ?? limits.candidatesInMemory + 1)
            if count < best?.count ?? limits.candidatesInMemory + 1 { best = (count, index, ranges) }
        }
        guard let best else { return nil }
        var candidates: [Int64] = []
        candidates.reserveCapacity(best.count)
        let entries = try db.prepared("SELECT record FROM fieldEntries WHERE list = ? AND key >= ? AND key < ?")
        for range in best.ranges {
            try entries.each([.int(best.index), .blob(range.lower), .blob(range.upper)]) {
                candidates.append($0.int(0))
                return true
            }
        }
        return candidates.sorted()
    }

    private func count(_ ranges: [KeyRange], _ index: Int64, upTo limit: Int) throws -> Int {
        let entries = try db.prepared(
            """
            SELECT count(*) FROM (SELECT 1 FROM fieldEntries WHERE list = ? AND key >= ? AND key < ? LIMIT ?)
            """)
        var count = 0
        for range in ranges where count < limit {
            count +=
                try entries.first([
                    .int(index), .blob(range.lower), .blob(range.upper), .int(Int64(limit - count)),
                ]) { Int($0.int(0)) } ?? 0
        }
        return count
    }

    // MARK: Methods of searching

    /// Looks at the records of the type, in the order of their creation. With sort keys, looks at all of them. Without
    /// sort keys, begins after the marker and ends when enough records are found.
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

    /// Looks at the records of an index, in the order of the first sort key. Skips records that are not among
    /// `candidates`; nil to skip none.
    private mutating func walk(
        _ index: Int64, among candidates: [Int64]?, _ matcher: inout RecordMatcher, _ found: inout FirstPositions
    ) throws {
        let isAscending = query.order.isAscending
        let (key, id) = walkStart(found.start, isAscending)
        let sign = isAscending ? (">", "key, record") : ("<", "key DESC, record DESC")
        try db.prepared(
            """
            SELECT key, record FROM fieldEntries WHERE list = ? AND (key, record) \(sign.0) (?, ?) ORDER BY \(sign.1)
            """
        ).each([.int(index), .blob(key), .int(id)]) { row in
            let number = row.int(1)
            if let candidates, !candidates.sortedContains(number) { return true }
            if found.isClosed(toFirstKey: Array(row.bytes(0)), id: number) { return false }
            try look(at: number, &matcher, &found)
            return true
        }
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
        try db.prepared("SELECT \(RecordRow.sql) FROM records WHERE id = ? AND zone = ? AND fields IS NOT NULL").each([
            .int(number), .int(zone),
        ]) {
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
